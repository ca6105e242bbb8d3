"""Methods as compositions of a gradient estimate, a direction and a step rule."""
