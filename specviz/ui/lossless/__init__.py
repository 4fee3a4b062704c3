"""The Lossless? tab: a sandbox, published rules, and tests of a real run."""
