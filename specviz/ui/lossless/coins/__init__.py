"""Run the sandbox's rule with random numbers, beside what an exact sampler would show."""
