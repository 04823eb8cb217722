"""The diagnosis: what its rules find, what they let pass, and that a finding begins once, lasts and ends."""

import math
import os
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from pac.backends.core.layout import Layout
from pac.envs.slots import Span
from pac.training.diagnosis import evidence as evidence_module
from pac.training.diagnosis.all_rules import RULES
from pac.training.diagnosis.diagnosis import QUIET_SECONDS, Diagnosis
from pac.training.diagnosis.evidence import FIRST_EPISODE_SECONDS, MIN_EPISODE_SECONDS, patience
from pac.training.diagnosis.learning_rules import EARLY, LATE
from pac.training.diagnosis.machine import MachineSample, work_of
from pac.training.diagnosis.of_run import FindingLines, findings_of
from pac.training.diagnosis.session_rules import CHECKPOINT_NOT_WRITTEN
from pac.training.diagnosis.speed_rules import MIN_WINDOWS, below_the_knee, busy
from pac.training.diagnosis.step_statistics import Returns
from pac.training.runs.folder import RunFolder
from pac.training.session.system_sampler import _slowest
from pac.training.telemetry.records import Severity
from pac.training.telemetry.snapshot import Scaling
from pac.training.telemetry.step_results import StepReader
from pac.training.telemetry.throughput import Mark, Throughput

from ...toys import toy


class Training:
    """A training that tells its figures, a window of 2 s an iteration."""

    def __init__(self):
        self.diagnosis, self.throughput = Diagnosis(), Throughput()
        self.begun: list[str] = []
        self.diagnosis.on_begin = lambda finding: self.begun.append(finding.text)
        self.frames, self.seconds, self.num_envs = 0.0, 0.0, 0

    def iterate(self, count=1, fps=1000.0, num_envs=8, *, limited=False, **metrics):
        """Go through some iterations; return what began meanwhile."""
        before = len(self.begun)
        if num_envs != self.num_envs:
            self.num_envs = num_envs
            self.throughput.reset(num_envs, Mark(self.seconds, int(self.frames), 0))
        named = {name.replace("__", "/"): value for name, value in metrics.items()}
        for _ in range(count):
            self.seconds, self.frames = self.seconds + 2, self.frames + 2 * fps
            self.throughput.add(Mark(self.seconds, int(self.frames), 0), limited=limited)
            self.diagnosis.evidence.log(named, int(self.frames))
            self.diagnosis.evidence.windows = self.throughput.windows
            self.diagnosis.check(self.seconds)
        return self.begun[before:]


@pytest.fixture
def training(monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.setattr(evidence_module, "LOG_PERIOD", -1.0)
    return Training()


def results(observation=0.0, score=0.0, final=0.0, *, players=1, ended=False, dtype="float32"):
    """What is read of five steps of four rows."""
    task = toy(dtype, (3,), players=players)
    buffer = Layout(task, 4 // players, slots=9).map()
    buffer["observation"][3, 2, 1] = observation
    buffer["final_observation"][4, 3] = final
    buffer["episode_return"][2, 1] = score
    buffer["terminated"][4, 3] = ended
    reader = StepReader(task, buffer)
    reader.request(Span(slice(1, 6), slice(5)))
    (found,) = reader.delivered()
    return found


def test_every_rule_says_what_it_needs():
    """So that the page of the documentation, the view and the JSON can."""
    for rule in RULES.values():
        texts = rule.definition, rule.sentence, rule.why, rule.advice, rule.source, rule.needs
        assert all(texts), rule.id


def test_a_finding_begins_once_lasts_and_ends(training):
    """It ends after a minute without the problem; then it may begin again."""
    for seconds in (1, 100, 159):
        training.diagnosis.evidence.log({"loss": math.nan}, 500)
        training.diagnosis.check(seconds)
        training.diagnosis.check(seconds + QUIET_SECONDS - 1)
    (found,) = training.diagnosis.findings
    assert (found.rule, found.severity, found.step, found.lasts) == ("loss-not-finite", Severity.FAULT, 500, True)
    training.diagnosis.check(400)
    assert not training.diagnosis.findings[0].lasts
    training.diagnosis.evidence.log({"loss": math.inf}, 900)
    training.diagnosis.check(401)
    assert training.begun == ["loss is nan", "loss is inf"]
    assert [one.number for one in training.diagnosis.findings] == [1, 2]


def test_a_finding_is_a_line_when_it_begins_becomes_graver_and_ends(training, tmp_path):
    """From these lines, the findings of a run are known whose session was killed before it wrote them elsewhere."""
    run, lines = RunFolder.create(tmp_path, "killed"), FindingLines()
    run.write_initial_metadata({"id": "killed", "findings": []})
    changes = []
    evidence = training.diagnosis.evidence
    for now, untrained in ((1, 0.0), (2, 0.3), (3, 0.3), (3 + 2 * QUIET_SECONDS, 0.0), (4 + 2 * QUIET_SECONDS, 0.9)):
        evidence.learners = {}
        training.iterate(3, **{"optimizer/without_gradient": untrained})
        training.diagnosis.check(now)
        for line in lines.take(training.diagnosis.findings, {"steps": 500}, now):
            run.append_metrics(line)
            changes.append((line["change"], line["seconds"]))
    assert changes == [("begins", 2), ("ends", 3 + 2 * QUIET_SECONDS), ("begins", 4 + 2 * QUIET_SECONDS)]
    assert findings_of(run) == training.diagnosis.findings


def test_a_rule_that_fails_leaves_the_training_alone(training, monkeypatch):
    """Also if its sentence cannot be made; the others are still checked."""
    monkeypatch.setattr(training.diagnosis.evidence, "learners", None)
    monkeypatch.setitem(RULES, "reward-scale", replace(RULES["loss-not-finite"], id="bad", sentence="{unknown}"))
    training.diagnosis.evidence.not_finite = {"loss": math.nan}
    training.diagnosis.report(CHECKPOINT_NOT_WRITTEN, "the disk is full")
    training.diagnosis.check(5.0)
    assert sorted(training.diagnosis.alarms) == ["loss is nan", "the disk is full"]


def test_what_others_report_is_a_finding(training):
    """Reported again while it lasts, it is the same one."""
    assert training.diagnosis.report(CHECKPOINT_NOT_WRITTEN, "the disk is full")
    assert not training.diagnosis.report(CHECKPOINT_NOT_WRITTEN, "the disk is still full")
    training.diagnosis.check(5.0)
    assert not training.diagnosis.report(CHECKPOINT_NOT_WRITTEN, "the disk is full")
    training.diagnosis.check(6.0)
    assert training.diagnosis.alarms == ["the disk is full"]


def test_numbers_that_are_none_are_found_where_they_are(training):
    """Observation and reward have a rule each; of several seats the environment is named."""
    for now, players in ((5.0, 1), (6.0, 2), (7.0 + QUIET_SECONDS, 2)):
        score = math.nan if players == 1 else 0.0
        found = results(observation=math.nan, score=score, players=players)
        assert training.diagnosis.evidence.stepped.add(found, players, 0, None)
        training.diagnosis.check(now)
        assert not training.diagnosis.evidence.stepped.nan_rewards
    assert training.begun == ["env 3: observation is NaN", "env 2: reward is NaN"]


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        ({"final": math.nan}, []),
        ({"final": math.nan, "ended": True}, ["env 4: observation is NaN"]),
        ({"observation": math.inf, "score": -math.inf}, []),
        ({"observation": 255, "dtype": "uint8"}, []),
    ],
)
def test_the_last_observation_of_an_episode_is_looked_at_too(training, seen, message):
    """Where one ended; elsewhere its place holds what was long ago. Infinity and whole numbers are numbers."""
    training.diagnosis.evidence.stepped.add(results(**seen), 1, 0, None)
    training.diagnosis.check(5.0)
    assert training.diagnosis.alarms == message


def test_a_loss_that_is_no_number_is_found(training):
    """Other figures may be unknown."""
    assert not training.iterate(loss__policy=1.0, explained_variance=math.nan)
    assert training.iterate(3, loss__policy=math.inf) == ["loss/policy is inf"]


def test_entropy_collapses_against_its_early_level(training):
    """To less than 15 % in most of ten iterations; shorter dips and a slow fall to more than that pass."""
    assert not training.iterate(EARLY, loss__entropy=2.0)
    assert not training.iterate(50, loss__entropy=0.31)
    assert not training.iterate(LATE // 2 - 1, loss__entropy=0.1)
    assert not training.iterate(LATE, loss__entropy=0.31)
    reported = training.iterate(3 * LATE, loss__entropy=0.1)
    assert reported == ["the policy's entropy has collapsed to 0.205 nats, from 2 at first"]


def test_the_entropy_of_other_trainers_is_known(training):
    """Its negative as a loss, too; one that is negative is that of numbers, which falls by itself."""
    training.iterate(EARLY, train__entropy_loss=-1.5)
    assert training.iterate(LATE, train__entropy_loss=-0.01)
    for early, late in ((-1.0, -9.0), (1.0, -0.5)):
        other = Training()
        other.iterate(EARLY, entropy=early)
        assert not other.iterate(30, entropy=late)


def test_throughput_is_held_to_its_own_median(training):
    """Three windows 20 % under it begin one finding; two do not, nor does what is slow by wish or at another N."""
    assert not training.iterate(MIN_WINDOWS, fps=1000)
    assert not training.iterate(2, fps=700)
    assert not training.iterate(3, fps=1000)
    assert not training.iterate(10, fps=100, limited=True)
    assert not training.iterate(2 * MIN_WINDOWS, fps=900)
    assert training.iterate(4, fps=700) == ["throughput is 700/s, 22% below the median of 900/s"]
    assert not training.iterate(20, fps=100, num_envs=2)


def test_a_noisy_machine_is_no_finding(training):
    """Where one window in five is slow anyhow, three such are nothing; much slower ones are."""
    for _ in range(MIN_WINDOWS // 5):
        assert not training.iterate(fps=700) + training.iterate(4, fps=1000)
    assert not training.iterate(3, fps=700)
    assert training.iterate(3, fps=300)


def test_the_phase_that_grew_is_named(training):
    """Learning takes as long as before, and the environments three times as long."""
    evidence = training.diagnosis.evidence
    for fps, share in [(1000.0, 0.5)] * 35 + [(500.0, 0.75)] * 4:
        evidence.spend(8, {"environment": share, "learner": 1 - share}, fps)
        training.iterate(fps=fps)
    (found,) = [text for text in training.begun if "throughput" in text]
    assert found.endswith("; stepping the environments grew most")


@pytest.mark.parametrize(
    ("share", "fps", "cores", "found"),
    [
        (0.9, 800.0, 8, True),  # 8 environments of 1.1 ms
        (0.9, 800.0, 1, False),
        (0.3, 800.0, 8, False),
        (0.9, 80_000.0, 8, False),  # processes would cost more than what they save
    ],
)
def test_slow_environments_in_turn_are_a_finding(training, share, fps, cores, found):
    """If more cores would make the script considerably faster."""
    evidence = training.diagnosis.evidence
    evidence.cores, evidence.in_turn = cores, True
    evidence.spend(8, {"environment": share, "python": 1 - share}, fps)
    training.iterate(MIN_WINDOWS + 2, fps=fps)
    assert any("one after the other" in text for text in training.begun) == found


def test_environments_that_still_pay_off_are_a_finding(training):
    """If nobody has measured more of them; a knee further down is none."""
    evidence = training.diagnosis.evidence
    for fps, found in ((380.0, 1), (210.0, 0)):
        evidence.num_envs = 4
        evidence.scaling = [Scaling(n, rate, rate, rate, 3, 6.0) for n, rate in ((1, 100.0), (2, 200.0), (4, fps))]
        assert len([one for one in below_the_knee(evidence) if one.value > RULES["below-the-knee"].threshold]) == found


def test_a_busy_machine_is_named():
    """If more programs want to run than there are cores."""
    assert busy(7.4, 4) == "; 7 programs want to run on 4 cores"
    assert not busy(4.5, 4)


def test_rules_are_muted_and_tuned(training):
    """By their names or groups: muted ones find nothing, others tolerate as much more as is set."""
    training.diagnosis.tolerances = {"loss-not-finite": 0, "learning": 2, "speed": 2}
    assert not training.iterate(EARLY + 20, loss__policy=math.nan, loss__entropy=2.0)
    assert not training.iterate(LATE, loss__entropy=0.16)
    assert training.iterate(LATE, loss__entropy=0.14)
    assert not training.iterate(4, fps=700)
    assert training.iterate(4, fps=500)


def test_episodes_that_end_no_more_are_a_finding(training):
    """After ten median ones, a minute at least; where none has ended, after ten minutes."""
    assert patience(200.0, 10.0) == 200.0
    assert patience(20.0, 10.0) == MIN_EPISODE_SECONDS
    assert patience(math.nan, 10.0) == FIRST_EPISODE_SECONDS
    for episodes, now in ((5, 100.0), (6, 250.0), (6, 449.0), (6, 451.0), (6, 453.0)):
        assert not training.begun or now > 451
        training.diagnosis.evidence.pace(episodes, 200.0, now)
        training.diagnosis.check(now)
    assert training.begun == ["no episode has ended for 201 s; the limit is 200 s"]


@pytest.mark.parametrize(
    ("rule", "sick", "healthy"),
    [
        ("updates-too-large", {"optimizer/update_ratio": 0.3}, {"optimizer/update_ratio": 0.01}),
        ("weights-blown-up", {"optimizer/growth": 40.0}, {"optimizer/growth": 2.0}),
        ("updates-too-small", {"optimizer/least_update_ratio": 1e-9}, {"optimizer/least_update_ratio": 1e-4}),
        ("gradients-not-cleared", {"optimizer/gradients_left": 1.0}, {"optimizer/gradients_left": 0.1}),
        ("gradient-zero", {"optimizer/zero_gradients": 1.0}, {"optimizer/zero_gradients": 0.0}),
        ("weights-not-finite", {"optimizer/not_finite": 64.0}, {"optimizer/not_finite": 0.0}),
        ("weights-without-gradient", {"optimizer/without_gradient": 1.0}, {"optimizer/without_gradient": 0.1}),
        ("learning-rate-zero", {"optimizer/learning_rate": 0.0}, {"optimizer/learning_rate": 1e-6}),
        ("policy-not-trained", {"policy/weights_unchanged": 0.5}, {"policy/weights_unchanged": 0.0}),
        ("target-never-updated", {"policy/copy_unchanged": 1.0}, {"policy/copy_unchanged": 0.0}),
        ("policy-sees-the-same", {"policy/same_input": 0.9}, {"policy/same_input": 0.2}),
        ("policy-not-sampled", {"policy/greedy": 9.0}, {"policy/greedy": 0.0}),
        ("observation-scale", {"policy/input_size": 5000.0}, {"policy/input_size": 20.0}),
        ("values-diverge", {"policy/value_mean": 4e7}, {"policy/value_mean": 99.0}),
        ("features-collapsed", {"optimizer/feature_rank": 0.1}, {"optimizer/feature_rank": 0.7}),
        ("replay-less-used", {"optimizer/replay_use": 0.125}, {"optimizer/replay_use": 1.0}),
        (
            "advantages-near-zero",
            {"advantage_deviation": 1e-4, "return_deviation": 1.0},
            {"advantage_deviation": 0.1, "return_deviation": 1.0},
        ),
    ],
)
def test_what_watch_sees_of_learning_is_judged(training, rule, sick, healthy):
    """Each rule finds what sick trainings showed, and not what healthy ones did."""
    other = Training()
    for one, seen in ((training, sick), (other, healthy)):
        stepped = one.diagnosis.evidence.stepped
        stepped.rewards, stepped.most = 5000, 1.0
        stepped.observed.steps = 5000
        one.iterate(20, **seen, **{"optimizer/updates": 50.0})
    assert rule in [found.rule for found in training.diagnosis.findings]
    assert not other.diagnosis.findings


@pytest.mark.parametrize(
    ("begin", "found"),
    [([0.0] * 20 + [60.0] * 40, ["the return rose to 60 and has fallen to 1"]), ([60.0, 40.0, 20.0], [])],
)
def test_a_return_that_rose_and_fell_is_a_finding(training, begin, found):
    """The mean of the first episodes to end, which are the shortest ones, is no rise."""
    for value in [*begin, *[0.0, 1.0, 2.0] * 40]:
        training.iterate(return_mean=value)
    assert training.begun == found


def test_what_is_missing_is_no_finding(training):
    """A policy that chooses greedily without an optimizer is evaluated, and not trained."""
    training.iterate(20, **{"policy/greedy": 9.0})
    assert not training.begun


def test_the_same_seed_at_each_reset_is_a_finding(training):
    """One at the first reset, or different ones, are not; nor is the same one in environments for evaluation."""
    stepped = training.diagnosis.evidence.stepped
    for number in range(100):
        stepped.seed(0, None if number else 7)
        stepped.seed(1, number)
    assert not training.iterate()
    training.diagnosis.evidence.main = False
    for _ in range(40):
        stepped.seed(2, 7)
    assert not training.iterate()
    training.diagnosis.evidence.main = True
    stepped.observed.count = 1
    assert training.iterate() == ["env 3 was reset with the seed 7 40 times in a row: its episodes begin alike"]
    assert training.diagnosis.findings[0].severity == Severity.WARNING


@pytest.mark.parametrize(("kind", "blocks"), [("random", 10), ("preferred", 0), ("in turn", 0)])
def test_random_actions_are_told_from_chosen_ones(training, kind, blocks):
    """Chance explains only actions that are as frequent as each other, and as often after themselves."""
    random, stepped = np.random.default_rng(1), training.diagnosis.evidence.stepped
    for _ in range(10):
        actions = random.integers(0, 3, (2048, 1))
        if kind == "preferred":
            actions[random.random(2048) < 0.1] = 0
        if kind == "in turn":
            actions[:, 0] = np.arange(2048) // 4 % 3
        stepped._test(actions, 3)
    assert stepped.random_blocks == blocks


def test_few_episodes_can_be_better_and_many_can_show_a_small_gain(training):
    """Forty that differ clearly are enough; a gain of a third of a standard deviation shows in two thousand."""
    returns = training.diagnosis.evidence.stepped.returns
    returns.add(np.arange(40.0), np.full(40, 10))
    assert returns.improved
    chance = np.random.default_rng(0)
    other = Returns()
    other.add(chance.normal(0, 1, 1000), np.full(1000, 2))
    other.add(chance.normal(0, 1, 100), np.full(100, 2))
    assert other.improved is False
    other.add(chance.normal(0.33, 1, 1000), np.full(1000, 2))
    assert other.improved


def test_a_training_that_learns_after_all_gets_a_note_in_place_of_a_warning(training):
    """As in games whose episodes always end within two steps, and whose returns are mostly chance."""
    chance, returns = np.random.default_rng(0), training.diagnosis.evidence.stepped.returns
    lengths, severities = np.full(1000, 2), []
    for mean in (0.0, 0.4):
        returns.add(chance.normal(mean, 1, 1000), lengths)
        training.iterate()
        severities += [one.severity for one in training.diagnosis.findings if one.rule == "episodes-end-at-once"]
    assert severities == [Severity.WARNING, Severity.NOTE]


def test_the_entropy_of_single_states_has_not_collapsed(training):
    """Of one environment, each point is the entropy in one state, which is low in most states of a good policy."""
    training.iterate(EARLY, entropy=0.7)
    for number in range(LATE * 2):
        training.iterate(1, entropy=0.6 if number % 3 == 0 else 0.001)
    assert "entropy-collapse" not in {one.rule for one in training.diagnosis.findings}


def test_little_progress_does_not_excuse_a_policy_without_entropy(training):
    """Only episodes that have come considerably nearer to the best one do."""
    returns = training.diagnosis.evidence.stepped.returns
    lengths = np.full(100, 10)
    returns.add(np.linspace(9, 10, 100), lengths)
    returns.add(np.array([60.0]), lengths[:1])
    returns.add(np.linspace(12, 13, 100), lengths)
    training.iterate(EARLY, entropy=0.7)
    training.iterate(LATE, entropy=0.001)
    found = {one.rule: one.severity for one in training.diagnosis.findings}
    assert found["entropy-collapse"] == Severity.WARNING
    returns.add(np.linspace(40, 60, 100), lengths)
    assert training.diagnosis.evidence.improved_much


def test_actions_that_are_no_choices_are_left_out(training):
    """Of scripts that take others, or where -1 stands for none; one action is still recognized."""
    stepped = training.diagnosis.evidence.stepped
    actions = np.array([[0], [-1], [2**40], [3], [0], [1]])
    stepped._sample(sampled(actions), 2, None)
    assert stepped.actions.tolist() == [2, 1]


def test_one_slow_environment_is_found(training):
    """By the median time of its steps, if as many of all others are known."""
    for slow, begun in ((2.5e-3, False), (9e-3, True)):
        times = {env: [slow if env == 1 else 1e-3] * 50 for env in range(4)}
        times[2][:10] = [0.9] * 10  # while other programs had the core
        training.diagnosis.evidence.stepped.timed = times
        training.diagnosis.check(5.0)
        assert bool(training.begun) is begun
    assert training.begun == ["a step of env 2 takes 0.009 s, 9.0 times as long as one of the others"]
    assert training.diagnosis.findings[0].env == 1


def test_actions_that_do_not_matter_are_a_finding(training):
    """If they were tried from several states; where one mattered, nothing is said."""
    for found, begun in (((3, 0), 0), ((3, 8), 1)):
        training.diagnosis.evidence.tried = found
        training.diagnosis.check(5.0)
        assert len(training.begun) == begun


def test_a_worker_of_a_script_that_computes_more_is_known():
    """By the CPU time of its process, once that are some seconds."""
    assert _slowest({0: 1.0, 1: 9.0, 2: 1.5}) == (6.0, 1)
    assert _slowest({0: 1.0, 1: 4.0, 2: 1.5}) == _slowest({0: 9.0}) == _slowest({}) == (0.0, 0)


def sampled(actions):
    """Steps with such actions and no reward."""
    decided = np.ones(actions.shape, np.bool_)
    return SimpleNamespace(
        actions=actions, decided=decided, rewards=np.zeros(actions.shape), reward_terms=np.zeros((0, 0, 0))
    )


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("memory-grows", {"rss": lambda second: 2**30 + second * 2**23}),
        ("swapping", {"swapped": lambda _: 900.0}),
        ("cpu-quota-used-up", {"throttled": lambda _: 0.4}),
        ("gpu-idle", {"gpu": lambda _: 3.0}),
        ("one-slow-worker", {"slowest": lambda _: 2.5}),
        ("inner-loop-works", {}),
        ("", {}),
    ],
)
def test_what_the_machine_shows_is_found(training, name, changes):
    """After some minutes; a machine that is well shows nothing."""
    evidence = training.diagnosis.evidence
    evidence.watched, healthy = True, {"rss": 2**30, "available": 2**33, "swapped": 0.0, "throttled": 0.0, "gpu": 90.0}
    for second in range(300):
        values = {**healthy, **{field: value(second) for field, value in changes.items()}}
        evidence.machine.add(MachineSample(second, **values))
        evidence.machine.work.append("save" if name == "inner-loop-works" and second % 2 else "")
    training.diagnosis.check(300.0)
    assert [found.rule for found in training.diagnosis.findings] == ([name] if name else [])


def test_what_a_script_does_is_known_by_its_functions():
    """By the functions that call each other; what draws for viewers does not count."""

    def render():
        return work_of(sys._getframe())

    def save():
        return work_of(sys._getframe())

    assert (render(), save(), work_of(sys._getframe())) == ("render", "save", "")
