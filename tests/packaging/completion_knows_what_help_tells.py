# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""In bash, zsh and fish, Tab completes every command, every option of --help and
the words of the tables; nothing is offered where nothing fits."""

import os
import pty
import re
import select
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "exporter"))

import kftest  # noqa: E402

BUILD = os.environ["top_builddir"]
FILES = os.path.join(BUILD, "packaging", "completion")
SOURCE = os.path.join(kftest.SOURCE, "src")


class Terminal:
    """An interactive shell on a terminal, with the completions and without
    anyone's files. ^T puts in all that Tab would offer, ^A goes to the begin of
    the line: what the shell makes of it is printed, not run."""

    def __init__(self, world, *command, **env):
        name = os.path.basename(command[0])
        home = home_of(world, name)
        path = kftest.need(command[0])
        pid, self.fd = pty.fork()
        if pid == 0:
            os.chdir(home)
            os.execvpe(path, command,
                       dict(os.environ, HOME=home, PS1="", TERM="dumb",
                            HISTFILE="", KONFISCATOR_DIR=world.stats,
                            PATH=BUILD + ":" + os.environ["PATH"], **env))
        self.said = ""
        self.nr = 0

    def type(self, text):
        os.write(self.fd, text.encode())

    def until(self, end):
        def more():
            if select.select([self.fd], [], [], 0.05)[0]:
                self.said += os.read(self.fd, 65536).decode(errors="replace")
            return re.search(end, self.said, re.S)
        return kftest.until("the shell says %r" % end, more)

    def offers(self, line):
        """What is offered at the end of a line."""
        self.nr += 1
        self.type(line + "\x14\x01kf_show %d \n" % self.nr)
        text = self.until(r"\[%d\](.*?)\[end\]" % self.nr)[1]
        return set(re.findall(r"<([^>]*)>", text)) - set(line.split())

    def close(self):
        self.type("\nexit\n")
        os.close(self.fd)


def home_of(world, name):
    home = world.path("home-" + name)
    if not os.path.exists(home):
        os.makedirs(os.path.join(home, "files"))
        with open(os.path.join(home, "one.rec"), "w", encoding="utf-8"):
            pass
    return home


SHOW = ("kf_show() { local n=$1; shift; printf '[%s]' \"$n\"; "
        "printf '<%s>' \"$@\"; printf '[%s]\\n' end; }\n")


class Bash(Terminal):
    def __init__(self, world):
        super().__init__(world, "bash", "--norc", "--noprofile", "-i",
                         INPUTRC="/dev/null")
        # no wrapping of long lines
        self.type("bind '\"\\C-t\": insert-completions'\n"
                  "bind 'set horizontal-scroll-mode on'\n"
                  "bind 'set enable-bracketed-paste off'\n")
        for name in ("konfiscator", "konfiscator_exporter"):
            self.type(". '%s'\n" % os.path.join(FILES, name))
        self.type(SHOW)


class Zsh(Terminal):
    def __init__(self, world):
        super().__init__(world, "zsh", "-f", "-i")
        self.type("fpath=('%s' $fpath); unset zle_bracketed_paste\n"
                  "autoload -Uz compinit && compinit -u -D; bindkey -e\n"
                  "kf_all() { _main_complete; compstate[insert]=all; "
                  "compstate[list]=; }\n"
                  "zle -C kf-all complete-word kf_all; bindkey '^T' kf-all\n"
                  "stty columns 10000\n" % FILES)
        self.type(SHOW)


class Fish:
    """fish tells what Tab would offer, without a terminal."""

    def __init__(self, world):
        self.path = kftest.need("fish")
        self.home = home_of(world, "fish")
        self.env = dict(os.environ, HOME=self.home, XDG_CONFIG_HOME=world.path("config"),
                        XDG_DATA_HOME=world.path("data"),
                        KONFISCATOR_DIR=world.stats,
                        PATH=BUILD + ":" + os.environ["PATH"])

    def offers(self, line):
        done = subprocess.run(
            [self.path, "--no-config", "-c",
             "source $argv[1]; source $argv[2]; complete -C $argv[3]",
             os.path.join(FILES, "konfiscator.fish"),
             os.path.join(FILES, "konfiscator_exporter.fish"), line],
            cwd=self.home, env=self.env, text=True, check=True, timeout=60,
            capture_output=True)
        assert not done.stderr, done.stderr
        return {offer.split("\t")[0] for offer in done.stdout.splitlines()}

    def close(self):
        pass


def helped(*args):
    """Options that --help has, and what stands for their arguments."""
    text = subprocess.run(args + ("--help",), text=True, check=True,
                          capture_output=True).stdout
    found = re.findall(r"^ +(?:(-\w)[, ] *)?(--[\w.\[\]-]+)?(?:=(\S+))?", text,
                       re.M)
    return {name: value for short, long, value in found
            for name in (short, long) if name}


def ids(path, macro=r"KF_\w+"):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as f:
        found = re.findall(r"^%s\((\w+)" % macro, f.read(), re.M)
    assert found, path
    return set(found)


def every_command_and_option_is_offered(world, Shell):
    shell = Shell(world)
    commands = {name.replace("_", "-") for name in ids("cli/commands.def")}
    assert shell.offers("konfiscator ") == commands
    assert shell.offers("konfiscator -q --") >= {"--format", "--dir"}
    for command in sorted(commands):
        options = set(helped(os.environ["KF_CLI"], command))
        assert len(options) > 5, options
        assert shell.offers("konfiscator %s -" % command) == options, command
    shell.close()


def words_of_the_tables_are_offered(world, Shell):
    shell = Shell(world)
    exports = {"log", "trace", "csv", "json", "massif"}
    views = ids("cli/report/views.def", "KF_VIEW")
    assert exports < views, views
    views = views - exports | ids("cli/profile/views.def", "KF_PROFILE_VIEW")
    for line, words in (
            ("konfiscator report --view=", views),
            ("konfiscator report --view ", views),
            ("konfiscator report --export=", exports),
            ("konfiscator stat --sort=", {
                "process", "container", "procs", "threads", "live", "held",
                "free", "round", "rss", "malloc", "mmap", "fail"}),
            ("konfiscator ctl 1 ", {i + "=" for i in ids("core/control.def")}),
            ("konfiscator enable x ", {i.replace("_", "-") + "=" for i in
                                       ids("core/conf.def", "KF_CONF")}),
            ("konfiscator run --engine=",
             ids("engines/engines.def") | {"files", "one.rec"}),
            ("konfiscator --color=", {"auto", "always", "never"}),
            ("konfiscator --color=al", {"always"}),
            ("konfiscator stat --by ", set(helped(
                os.environ["KF_CLI"], "stat")["--by"].split("|"))),
            ("konfiscator trace mal", {"malloc"}),
            ("konfiscator report o", {"one.rec"}),
            ("konfiscator explain o", {"one.rec"}),
            ("konfiscator diff o", {"one.rec"}),
            ("konfiscator record konfiscator_e", {"konfiscator_exporter"}),
            ("konfiscator run -- konfiscator_e", {"konfiscator_exporter"}),
            ("konfiscator run -- cat o", {"one.rec"}),
            ("konfiscator run -- cat --", shell.offers("cat --")),
            ("konfiscator --dir=f", {"files"}),
            ("konfiscator run konfiscator_e", {"konfiscator_exporter"})):
        got = {re.sub(r"^--\w+=", "", w).rstrip("/")
               for w in shell.offers(line)}
        assert got == words, (line, got)
    shell.close()


def processes_that_run_are_offered(world, Shell):
    alive, ended = world.sleeper(), world.sleeper()
    for process in (alive, ended):
        world.stats_file("sleep.%d.1" % process.pid, pid=process.pid)
    world.end(ended)
    shell = Shell(world)
    for line in ("konfiscator ctl ", "konfiscator stat -p "):
        got = shell.offers(line)
        assert str(alive.pid) in got and str(ended.pid) not in got, line
    shell.close()


def flags_of_the_exporter_are_offered(world, Shell):
    shell = Shell(world)
    flags = set()
    for flag in helped(kftest.EXPORTER):
        flags |= {flag.replace("[no-]", ""), flag.replace("[no-]", "no-")}
    assert len(flags) > 20
    assert shell.offers("konfiscator_exporter -") == flags
    for line, words in (
            ("konfiscator_exporter --log.level=", {"debug", "info", "warn",
                                                   "error"}),
            ("konfiscator_exporter --log.format ", {"logfmt", "json"}),
            ("konfiscator_exporter --trace=", {
                "konfiscator", "sizes", "latency", "mmap", "frag",
                "prometheus"}),
            ("konfiscator_exporter --stats.dir=f", {"files"}),
            ("konfiscator_exporter --web.max-requests ", set())):
        got = {re.sub(r"^--[\w.]+=", "", w).rstrip("/")
               for w in shell.offers(line)}
        assert got - {""} == words, (line, got)
    shell.close()


def in_shells(*facts):
    """Each fact in each shell that is installed; bash always is."""
    for fact in facts:
        for shell in (Bash, Zsh, Fish):
            def test(world, fact=fact, shell=shell):
                fact(world, shell)
            test.__name__ = "%s_in_%s" % (fact.__name__,
                                          shell.__name__.lower())
            yield test


kftest.main(*in_shells(
    every_command_and_option_is_offered,
    words_of_the_tables_are_offered,
    processes_that_run_are_offered,
    flags_of_the_exporter_are_offered,
))
