"""A target whose passes run on a vLLM server: HTTP requests, and distributions from responses.

The server may be slow or down, or may be another program. Every request has a timeout, and every
failure is reported in one sentence.
"""
