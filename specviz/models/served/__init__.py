"""A target that a vLLM server computes: HTTP requests, and distributions from the responses.

A server may be slow, down, or another program. Every request has a timeout, and every failure is
reported in one sentence.
"""
