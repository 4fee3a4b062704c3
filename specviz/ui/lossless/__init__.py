"""The Lossless? tab: a sandbox, published rules, and a real run put to the test."""
