"""A target that a vLLM server computes: questions over HTTP, answers as laws.

Rule: a server may be slow, down or another program: every question has an end, and whatever cannot
be used leaves as one sentence.
"""
