"""Forgeries of settings, evidence, texts, spellings and the order of events."""

from __future__ import annotations

from forging import (
    Forgery,
    cut,
    events,
    first,
    guess,
    header,
    inside,
    move,
    plus,
    put,
    sampling,
    setting,
    unreached,
)


def without_evidence(**values):
    """Change settings and remove the evidence of the guesses' ranks."""

    def change(lines):
        lines[0]["settings"].update(values)
        for line in events(lines, "proposed"):
            for each in line["guesses"]:
                each["evidence"] = None

    return change


def fork(lines):
    """Move an unreached guess beside its parent."""
    for line in events(lines, "proposed"):
        guesses, number = line["guesses"], line["round"]
        of_round = [d for d in lines if d.get("round") == number]
        reached = max((d["node"] for d in of_round if d["event"] == "judged"), default=0)
        scored = next(d for d in of_round if d["event"] == "scored")
        if len(guesses) > reached + 1 and scored["p"][-1] == 0.0:
            guesses[-1]["parent"] -= 1
            return


def follow_unsure(lines):
    """Set the confidence just above a score after which drafting continued."""
    guesses = first(lines, "proposed", lambda d: len(d["guesses"]) > 1)["guesses"]
    lines[0]["settings"]["confidence"] = min(0.99, guesses[0]["score"] + 0.01)


def other_copy(lines):
    """Change the token of a guess without a verdict, and remove where it was copied from."""
    for _, each, scored in unreached(lines):
        likely = {token for top in scored["top"] for token, _ in top}
        if each["token"] not in likely:
            each["evidence"] = None
            each["token"] = next(t for t in lines[0]["prompt_ids"][1:] if t not in likely)
            return


def least_chance(lines):
    """Set the least probability above that of a guess, in settings and remarks."""
    lines[0]["settings"]["suffix_least"] = 1.0
    for line in events(lines, "proposed"):
        line["remark"]["least"] = 1.0


def shorter_ngrams(lines):
    """Set a smaller N and remove the remarks on the extra rows."""
    lines[0]["settings"]["lookahead_ngram"] = 3
    for line in events(lines, "proposed"):
        del line["remark"]["window"]


def claim_whole_window(lines):
    """Change the number of extra rows in the remark and in the pass."""
    drafted = first(lines, "proposed", lambda d: d["remark"]["rows_window"])
    drafted["remark"]["rows_window"] += 3
    passed = next(d for d in events(lines, "scored") if d["round"] == drafted["round"])
    passed["rows_in_pass"] += 3


def spell(token, spelling):
    """Change the spelling of a token everywhere."""

    def change(lines):
        for line in events(lines, "vocabulary"):
            if token in line["tokens"]:
                line["tokens"][token] = spelling

    return change


def forget(token):
    """Remove the spelling of a token."""
    return lambda lines: [d["tokens"].pop(token, None) for d in events(lines, "vocabulary")]


def again(token, spelling):
    """Spell a token a second time."""
    return lambda lines: lines.append({"event": "vocabulary", "tokens": {token: spelling}})


def other_id(lines):
    """Repeat a token of the prompt in place of the next one."""
    ids = lines[0]["prompt_ids"]
    ids[-8] = ids[-9]


def piece(kind, **values):
    """Change the first piece of this kind of a chat."""

    def change(lines):
        pieces = lines[0]["chat"]["pieces"]
        next(each for each in pieces if each["kind"] == kind).update(values)

    return change


def swap(event, other):
    """Swap the first events of two kinds."""

    def change(lines):
        one, two = first(lines, event), first(lines, other)
        a, b = lines.index(one), lines.index(two)
        lines[a], lines[b] = two, one

    return change


def to_end(event):
    """Move the first event of a kind to the end."""
    return lambda lines: move(lines, first(lines, event), len(lines))


def baseline_first(lines):
    move(lines, first(lines, "baseline"), 2)
    for line in events(lines, "vocabulary")[1:]:
        move(lines, line, 2)


def before_end(lines):
    """Move plain decoding before the run's end."""
    move(lines, first(lines, "finished"), len(lines))


def judged_late(lines):
    """Move the last verdict of a round behind its draw."""
    drew = first(lines, "drew")
    at = lines.index(drew)
    move(lines, lines[at - 1], at)


def twice(event):
    """Repeat the first event of a kind."""

    def change(lines):
        line = first(lines, event)
        lines.insert(lines.index(line), line)

    return change


def without(rounds):
    """Remove the rounds that a function selects from all round numbers."""

    def change(lines):
        every = sorted({line["round"] for line in lines if "round" in line})
        lines[:] = [line for line in lines if line.get("round", -1) not in rounds(every)]

    return change


def without_last_token(lines):
    """Remove the token drawn last in a round that has others."""
    line = first(lines, "committed", lambda d: len(d["tokens"]) > 1)
    line["tokens"].pop()
    of_round = [d for d in events(lines, "drew") if d["round"] == line["round"]]
    lines.remove(of_round[0])


def early_end(lines):
    """Move the run's end before its first event."""
    move(lines, first(lines, "finished"), 2)


def ended_before(lines):
    """Claim that an earlier token of the text ends it, one that was never guessed."""
    guesses = {each["token"] for line in events(lines, "proposed") for each in line["guesses"]}
    text = [token for line in events(lines, "committed")[:-1] for token in line["tokens"]]
    lines[0]["eos"] = [next(token for token in text if token not in guesses)]


FORGERIES: list[Forgery] = [
    # Settings against the drafts
    ("06a", setting(gamma=2), "guesses are 4 deep, but γ and the limit"),
    ("03", setting(gamma=2), "3 deep, but γ and the limit allow 2"),
    ("05", setting(gamma=2), "deep, but γ and the limit allow 2"),
    ("02", setting(gamma=3), "deep, but γ and the limit allow 3"),
    ("06a", setting(gamma=8), "0 guesses come after node 4, but"),
    ("15", setting(gamma=9), "but the settings give 1"),
    ("24", setting(gamma=6), "but the settings give 1"),
    ("06a", setting(schedule="learning"), "deep|but the settings"),
    ("07", setting(schedule="fixed"), "deep|but the settings give"),
    ("09", setting(siblings=[3]), "1 guesses come after node 0, but"),
    ("11", setting(siblings=[]), "3 guesses come after node 0.* allow 1"),
    ("11", setting(siblings=[2, 2]), "3 guesses come after node 0.* allow 2"),
    ("11", setting(siblings=[4, 2]), "0, but the settings give 4"),
    ("06a", setting(siblings=[2]), "should be without-repl"),
    ("03", setting(siblings=[]), "should be sampled"),
    ("12", setting(siblings=[2, 2]), "3 guesses come after node 0"),
    ("12", setting(siblings=[3, 3]), "1, but the settings give 3"),
    ("22", setting(siblings=[1], suffix_least=0.9), "suffix_least is 0.1"),
    ("16", setting(siblings=[2]), "guesses come after node 1|rank path"),
    ("29", fork, "ngram proposes a chain, but this is a tree"),
    ("16", without_evidence(siblings=[1, 1]), "2 guesses come after node 0, but .* allow 1"),
    ("04", without_evidence(rank_paths=[[0], [1]]), "8 guesses exceed the 2 rank paths"),
    ("04", setting(rank_paths=[[0], [1]]), "which was not chosen"),
    ("06a", setting(candidates="greedy"), "should be point-mass"),
    ("10", setting(candidates="sampled"), "should be sampled"),
    ("05", setting(budget=5), "10 guesses exceed the budget of 5"),
    ("05", setting(budget=24), "10 guesses but should have 18"),
    ("13", setting(budget=12), "10 guesses but should have 12"),
    ("05", setting(fan_out=1), "guesses after a node exceed the fan-out of 1"),
    ("06a", follow_unsure, "a guess follows one with score"),
    ("12", follow_unsure, "a guess follows one with score"),
    ("13", put("proposed", "remark", weighed=4), "10 guesses but should have 4"),
    ("18", put("proposed", "remark", kept=3), "its remark gives another number of guesses"),
    ("13", put("proposed", "remark", weighed="many"), "is 'many', which is not"),
    ("02", setting(ngram_max=1), "its ngram_max is 3, not 1"),
    ("02", setting(ngram_min=2), "its ngram_min is 1, not 2"),
    ("20", put("proposed", "remark", length=9), "its match of 9 tokens"),
    ("20", put("proposed", "remark", start=plus(-1)), "not the end of the text"),
    ("22", setting(suffix_factor=0.1), "its suffix_factor is 2.0, not 0.1"),
    ("22", put("proposed", "remark", length=0), "deep, but the factor allows 0"),
    ("22", guess(0, 0.25, "score"), "its score is 0.25"),
    ("30", setting(lookahead_guesses=1), "but the settings allow 1"),
    ("27", shorter_ngrams, "3 deep, but the n-grams allow 2"),
    ("27", setting(lookahead_window=3), "the size that the settings give"),
    ("02", other_copy, "not what followed the match"),
    ("22", least_chance, "counts give less than the least probability"),
    ("27", setting(lookahead_window=6), "the size that the settings give"),
    ("27", claim_whole_window, "another number of rows in the window"),
    ("24", setting(exit_layer=3), "its exit_layer is 6, not 3"),
    ("06a", setting(max_new_tokens=50), "'limit' but should be 'stopped'|but"),
    ("02", setting(max_new_tokens=39), "more tokens|deep, but γ and the limit"),
    ("06a", setting(luck=7), "Unknown setting: luck"),
    ("06a", setting(gamma=0), "must be between 1 and 64"),
    # Evidence and remarks
    ("06a", guess(0, 1.7, "score"), "list of scores contains 1.7"),
    ("12", guess(0, -3.0, "score"), "list of scores contains -3.0"),
    ("13", guess(0, 0.001, "evidence", "path"), "the probability of its path"),
    ("13", guess(0, "x", "evidence", "path"), "parts do not fit"),
    ("18", guess(0, 9, "evidence", "place"), "places do not match"),
    ("12", guess(0, 2, "evidence", "rank"), "its evidence is not {'rank': 0"),
    ("12", guess(0, 5, "evidence", "guessed_features"), "its evidence is not"),
    ("02", guess(0, 0, "evidence", "from"), "token 0 of the text is not its token"),
    ("22", guess(0, 0, "evidence", "total"), "its total is not above 0"),
    ("22", guess(0, 10**9, "evidence", "from"), "token 1000000000 of the text"),
    ("22", put("proposed", "remark", start=0), "not the end of the text"),
    ("27", put("proposed", "remark", rows_verified=2), "another number of guesses"),
    # Temperature, top-k and top-p
    ("06a", sampling(top_k=3), "more tokens than top-k 3"),
    ("03", sampling(top_k=5), "more tokens than top-k 5"),
    ("04", sampling(top_k=4), "p has more tokens than top-k 4"),
    ("08", sampling(top_k=6), "more tokens than top-k 6"),
    ("08", sampling(top_k=0), "p of a token is 0, but the settings cut none"),
    ("06a", sampling(top_p=0.5), "that top-p 0.5 cuts"),
    ("02", sampling(top_p=0.5), "p keeps a token of .* that top-p 0.5 cuts"),
    ("03", sampling(top_p=0.9), "that top-p 0.9 cuts"),
    ("06", sampling(top_p=1.0), "p of a token is 0, but the settings cut none"),
    ("06a", sampling(temperature=1.5), "q of the top token is above"),
    ("06a", sampling(temperature=1.0), "q at temperature 1"),
    ("10", sampling(temperature=0.0), "greedy|temperature 0"),
    ("06a", sampling(temperature=-1.0), "must be between 0 and 100"),
    # The prompt and its tokens
    ("06a", header(prompt="Once upon a time, there was a boy"), "do not spell"),
    ("06a", header(prompt=lambda t: t.replace("Mia", "Mie")), "do not spell"),
    ("06a", header(prompt=lambda t: t.replace(",", "")), "do not spell"),
    ("02", header(prompt=lambda t: t + " so"), "not spell"),
    ("06a", inside("header", "prompt_ids", 5, value=750), "do not spell"),
    ("06a", cut("header", "prompt_ids", at=6), "do not spell|Round 1"),
    ("06a", inside("header", "prompt_ids", value=lambda t: [t[0], 310, *t[1:]]), "do not spell"),
    ("06a", forget("620"), "tokens .620. of the prompt"),
    ("06a", spell("1593", " Ann"), "do not spell"),
    ("27", piece("template", text="assistant\n"), "do not spell|its special"),
    ("27", piece("typed", text="something else"), "is not the typed text"),
    ("27", piece("special", text="<|other|>"), "not spelled"),
    ("28", other_id, "spell|one|not its token"),
    ("27", piece("typed", tokens=10**9), "are not all of"),
    ("27", piece("typed", turn=10**30), "not in the order"),
    # Spellings
    ("06a", again("12", ";"), "token 12 has two spellings"),
    ("06a", again("99999", "x"), "'99999' is not a token id"),
    ("06a", again("-3", "x"), "'-3' is not a token id"),
    ("06a", again("012", ","), "'012' is not a token id"),
    ("06a", again("١٢", ","), "is not a token id"),
    ("06a", again("twelve", ","), "'twelve' is not a token id"),
    ("06a", again("9" * 5000, ","), "is not a token id"),
    ("06a", again("7", "“"), "the bytes of token 7 are not latin-1"),
    ("06a", spell("12", "🦊"), "are not latin-1 text"),
    ("06a", lambda d: move(d, events(d, "vocabulary")[1], len(d)), "no bytes for tokens"),
    ("06a", forget("2100"), "no bytes for tokens .2100"),
    ("06a", forget("1566"), "Baseline: no bytes for tokens"),
    # The order of events
    ("06a", swap("proposed", "scored"), "'proposed' comes after"),
    ("06a", judged_late, "'judged' comes after 'drew'"),
    ("02", swap("scored", "judged"), "'scored' comes after"),
    ("06a", swap("drew", "committed"), "'drew' comes after"),
    ("06a", to_end("drew"), "Round|round"),
    ("06a", baseline_first, "Baseline: it comes before the run's end"),
    ("09", before_end, "Baseline: it comes before the run's end"),
    ("06a", twice("baseline"), "a second 'baseline' event"),
    ("06a", twice("finished"), "a second 'finished' event"),
    ("06a", twice("proposed"), "a second 'proposed' event"),
    ("06a", twice("scored"), "a second 'scored' event"),
    ("06a", twice("drew"), "a second 'drew' event"),
    ("06a", twice("judged"), "in the wrong order|not judged|α is given at"),
    ("06a", to_end("committed"), "Round"),
    ("06a", twice("committed"), "a second 'committed' event"),
    ("06a", early_end, "it comes after the run's end"),
    ("06a", without(lambda every: [3]), "round 3 is missing"),
    ("06a", without(lambda every: every[-1:]), "'limit' but should be 'stopped'"),
    ("06a", without(lambda every: every), "the run has no rounds"),
    ("06a", without_last_token, "a last token must be drawn unless the text ended"),
    ("06a", ended_before, "continues after its end"),
]
