"""Bash completion of the trainers' settings, and of task, trainer, backend, device and run names."""

from __future__ import annotations

from ...backends.factory import backend_names
from ...envs.registry import families
from ...training.trainers import BUILT_IN, trainer_names

VALUES = """
_pac_tui_values() {{
    local names run runs=() here="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
    [[ ${{COMP_WORDS[1]}} == compare && $COMP_CWORD == 3 ]] && before=compare
    case "$before" in
        --task) names="{tasks}" ;;
        --trainer) names="{trainers}" ;;
        --backend) names="{backends}" ;;
        --device) names="auto cpu cuda mps" ;;
        compare|--against|--policy) names="latest random human"; runs=(runs/*/) ;;
        --resume|--run|attach|eval|memory|profile|stacks|trace|tag|note|show) names="latest"; runs=(runs/*/) ;;
        rename|rm) names=" "; runs=(runs/*/) ;;
    esac
    if [[ $here == --*.* ]]; then
        COMPREPLY=($(compgen -W "{settings}" -- "$here"))
    elif [[ -n $names && $here != -* ]]; then
        COMPREPLY=($(compgen -W "$names" -- "$here"))
        for run in "${{runs[@]}}"; do
            run="${{run#runs/}}" run="${{run%/}}"
            [[ -d runs/$run && $run == "$here"* ]] && COMPREPLY+=("$(printf %q "$run")")
        done
    else
        _pac_tui "$@"
    fi
}}
complete -F _pac_tui_values pac-tui
"""


def bash_values() -> str:
    """Return the bash code to append to the completion script for commands and options."""
    settings = [
        f"--{kind.name}.{name.replace('_', '-')}"
        for kind in BUILT_IN.values()
        for name in kind.settings_class.model_fields
    ]
    return VALUES.format(
        tasks=" ".join(families()),
        trainers=" ".join(trainer_names()),
        backends=" ".join(backend_names()),
        settings=" ".join(settings),
    )
