"""EAGLE, EAGLE-2, EAGLE-3 and P-EAGLE: small heads that predict the target's next hidden state."""
