"""Lists of pictures, videos, text pictures and no pictures; what pygame says of itself afterwards."""
# environment: SDL_VIDEODRIVER=dummy
import sys
import gymnasium as gym

env = gym.make("CartPole-v1", render_mode="rgb_array_list")
env.action_space.seed(0)
env.reset(seed=0)
for _ in range(5):
    env.step(env.action_space.sample())
pictures = env.render()
print(len(pictures), pictures[0].shape, sum(int(each.sum()) for each in pictures), len(env.render()))
env.close()
env = gym.make("CartPole-v1", render_mode="rgb_array")
env.reset(seed=0)
print(int(env.render().sum()), env.unwrapped.screen is None, env.unwrapped.isopen)
env.step(1)
env.close()
text = gym.make("FrozenLake-v1", render_mode="ansi")
text.reset(seed=0)
text.step(1)
print(text.render())
plain = gym.make("MountainCar-v0")
plain.reset(seed=0)
for _ in range(100):
    plain.step(0)
print(sorted(vars(plain.unwrapped)), plain.unwrapped.screen, plain.render_mode)
print("pygame" in sys.modules and sys.modules["pygame"].display.get_init())
