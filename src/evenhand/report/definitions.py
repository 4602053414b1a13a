"""What a report says of its own words: definitions, limits of the claims, and what is not claimed."""

from __future__ import annotations

QUESTIONS = {
    "measure": "How much does the software discriminate?",
    "prevalence": "Which share of all inputs does the software discriminate against?",
    "subsets": "Which sets of features does the software discriminate by?",
    "search": "Which concrete inputs does the software discriminate against?",
    "measure_log": "How much do the recorded decisions differ between groups?",
    "mine": "Which readable subgroups are treated differently from everyone else?",
    "mine_log": "Which readable subgroups do the recorded decisions treat differently from everyone else?",
    "mine_text": "With which sensitive terms are texts treated differently?",
    "compare": "Is a mitigation better than blindly giving up accuracy?",
    "repair": "Does training again with what was found help?",
    "impact": "How often is each category selected, beside the one that is selected most often?",
    "replay": "Does the software still answer as it did?",
}
"""The question that each job answers."""
DEFINITIONS = {
    "measure": "The causal score is the share of inputs whose outcome changes when nothing but the named features "
    "change (Galhotra, Brun, Meliou: Themis, Definition 3.7). The group score is the largest difference between groups "
    "in how often they get the favourable outcome (Definition 3.6). Intervals hold their level under the rule that "
    "ended the sampling.",
    "measure_log": "The group score of recorded decisions is the largest difference between groups in how often they "
    "got the favourable outcome (Themis, Definition 3.6). Nothing was asked of the software.",
    "prevalence": "The prevalence is the share of all inputs that have a twin with another outcome, which differs from "
    "them in the named features alone.",
    "subsets": "A set of features discriminates where its score reaches the limit; it is minimal where no part of it "
    "does (Themis, Definition 3.9). A set that contains a discriminating one discriminates too, and parts of a cleared "
    "set are cleared: these need no test.",
    "search": "A discriminatory input is one whose outcome changes with nothing but the named features (Udeshi, Arora, "
    "Chattopadhyay: Aequitas, Definition 1). A search goes where it finds: its number of inputs is no rate, and not to "
    "find any is no proof that there are none.",
    "mine": "The score of a subgroup is how much more, or less, often its people get the favourable outcome than "
    "everyone else (Zhang, Wang, Sun, Sun: TestSGD, Definition 4.1). All subgroups that are large enough were looked "
    "at, and the intervals hold for all of them together.",
    "mine_text": "Texts that name a category are written with each of its terms; the score of a term is how much more, "
    "or less, often texts get the favourable outcome with it than with others (TestSGD, sections 4.1 and 4.3).",
    "compare": "The line is what comes of overwriting more and more predictions of the original blindly: both bias and "
    "performance fall. A mitigation is worth it where it does better than that (Hort, Zhang, Sarro, Harman: Fairea).",
    "replay": "Inputs of an earlier run were asked again; what is said holds of these inputs alone.",
    "repair": "The model was trained again with what was found; scores before and after are those on inputs and people "
    "that no step had used.",
    "impact": "The selection rate of a category is the share of its people who get the favourable outcome; for scores, "
    "the share above the median. The impact ratio is that rate divided by the highest one. Categories under 2 % of the "
    "rows are shown and not compared, unless said otherwise, and unknown ones are counted and left out.",
}
"""What the words of each job mean."""
DEFINITIONS["mine_log"] = DEFINITIONS["mine"]
LIMITS = (
    "A verdict is about the limit that was given, an engineering threshold that somebody chose. It says nothing of any "
    "law, and a pass is not proof that the software treats everybody alike.",
    "Undecided is not a pass: the evidence does not tell on which side of the limit the score lies.",
    "A rate speaks of the population that is named beside it. Over all inputs, uniformly, it says what the software "
    "can do, not how often that happens to real people.",
    "A search finds witnesses and never a rate. That it finds none says nothing, unless every input was tried.",
    "A causal score sees what depends on the named features alone. What works through other features that go along "
    "with them, a postcode for example, shows in group scores and subgroups.",
    "A causal test assumes that the software gives the same answer to the same question; some inputs were asked twice "
    "to see whether it does.",
    "Features that the software is not given have a causal score of zero by construction, which is no evidence of "
    "fairness.",
)
"""What bounds every claim."""
TOGETHER = "Each check holds at its own level; all that is said here holds together with {level}."
