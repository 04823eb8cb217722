"""Weights & Biases, offline: what is logged, nested and by step, and the summary."""
# needs: wandb
# environment: WANDB_MODE=offline WANDB_SILENT=true
import inspect
import gymnasium as gym
import wandb

run = wandb.init(project="harm")
env = gym.make("CartPole-v1")
env.reset(seed=0)
for step in range(40):
    _, reward, *_ = env.step(step % 2)
    wandb.log({"reward": reward, "nested": {"loss": 1 / (1 + step)}}, step=step)
print(dict(run.summary).get("reward"), inspect.signature(wandb.log), wandb.log.__name__, run.step)
run.finish()
