"""The gallery: rules as found in public, with what was claimed and what really comes out."""
