"""The replay: traces over weeks in a virtual world, the same control loop, and honest comparisons."""
