"""The Lossless? tab: a sandbox, rules as found in the wild, and a real run put to the test."""
