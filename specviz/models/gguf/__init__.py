"""Models in GGUF, the file format of llama.cpp: reading and writing them."""
