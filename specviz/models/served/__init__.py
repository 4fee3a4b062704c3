"""A target that a vLLM server computes: requests over HTTP, responses as distributions.

A server may be slow, down, or another program: every request has a time limit, and whatever cannot
be used is reported in one sentence.
"""
