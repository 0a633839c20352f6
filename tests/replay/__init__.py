"""The replay: measures, recipes, reports and sweeps."""
