"""Curves in logs that other programs have written: TensorBoard, W&B, Stable-Baselines3, Lightning."""
