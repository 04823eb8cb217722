"""TensorBoard: the number of events and their values in the file that was written."""
# needs: tensorboard torch
import glob
import gymnasium as gym
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.tensorboard import SummaryWriter

writer = SummaryWriter("/tmp/../" + __import__("tempfile").mkdtemp())
env = gym.make("CartPole-v1")
env.reset(seed=0)
for step in range(100):
    env.step(step % 2)
    writer.add_scalar("train/loss", 1 / (step + 1), step)
writer.close()
events = EventAccumulator(writer.log_dir).Reload()
print([(event.step, event.value) for event in events.Scalars("train/loss")][-3:], events.Tags()["scalars"])
import os, shutil
shutil.rmtree(writer.log_dir)
