"""Work that is killed at random moments and goes on: nothing may be lost, nothing half-written read as whole."""
