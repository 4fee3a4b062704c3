"""DeepSeek-V3's sequential modules for multi-token prediction."""
