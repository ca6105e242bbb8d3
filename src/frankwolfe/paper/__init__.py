"""The paper's experiments (Negiar et al., ICML 2020) and the report that ``frankwolfe reproduce`` writes."""
