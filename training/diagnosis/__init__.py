"""Says what is wrong with a training: rules are checked against `Evidence`, and `Diagnosis` follows the findings."""
