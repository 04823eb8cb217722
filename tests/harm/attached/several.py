"""A list of single environments that the script steps itself, some of which are replaced."""
import gymnasium as gym

envs = [gym.make("CartPole-v1") for _ in range(6)]
for number, env in enumerate(envs):
    env.reset(seed=number)
total = 0.0
for step in range(6_000):
    for number, env in enumerate(envs):
        observation, reward, terminated, truncated, _ = env.step((step + number) % 2)
        total += reward + float(observation[0])
        if terminated or truncated:
            if step % 50 == 0:
                env.close()
                envs[number] = gym.make("CartPole-v1")
                envs[number].reset(seed=step)
            else:
                env.reset()
print(total)
