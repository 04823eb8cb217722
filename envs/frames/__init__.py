"""A picture of packed pixels with a shape to steer and shapes that drift, and the picture that it should become."""
