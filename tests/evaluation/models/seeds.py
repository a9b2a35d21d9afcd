"""A hundred seeds of all categories as pathologists write them, and the image-free check of what becomes of them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from evaluation.items import KPrim, MultipleChoice
from evaluation.items.generation import SeedContext, read_kprim, read_mcq, read_variants
from evaluation.items.guessing import (
    GUESS_TRIALS,
    MAX_REGENERATIONS,
    kprim_is_guessable,
    mcq_is_guessable,
    read_kprim_guess,
    read_mcq_guess,
    trial_order,
)
from evaluation.models import GenerationFacts, QuestionFacts
from evaluation.models._offline._author import write_items
from evaluation.models._offline._test_wise import answer_test_wise

_ROWS: tuple[tuple[str, str, str, str], ...] = (
    ("liver", "identify_pathology", "What is the main histopathologic change?", "Hepatocellular necrosis"),
    ("liver", "identify_pathology", "What is the main histopathologic change?", "Hepatocellular vacuolation"),
    ("liver", "identify_pathology", "Name the lesion.", "Bile duct hyperplasia"),
    ("liver", "identify_pathology", "Define the main finding.", "Fatty change"),
    ("liver", "identify_pathology", "Which change is seen in the portal tracts?", "mononuclear cell infiltrate"),
    ("liver", "identify_pathology", "What fills the space between the cords?", "haemorrhage"),
    ("liver", "identify_pathology", "What is the diagnosis?", "Focal suppurative hepatitis"),
    ("liver", "identify_pathology", "What is the diagnosis?", "Moderate centrilobular hepatocellular necrosis"),
    ("liver", "identify_anatomy", "Which structure lies in the centre of the lobule?", "Central vein"),
    ("liver", "identify_anatomy", "Which structure is marked by three profiles?", "portal triad"),
    ("liver", "identify_anatomy", "Which cell type forms the cords?", "hepatocytes"),
    ("liver", "identify_anatomy", "Which cells line the small duct?", "bile duct epithelial cell"),
    ("liver", "localize_in_image", "Where is the hepatocellular necrosis most pronounced?", "upper left"),
    ("liver", "localize_in_image", "Where is the portal triad?", "lower right quadrant"),
    ("liver", "localize_in_image", "Where is the tissue fold?", "along the left edge"),
    ("liver", "localize_in_image", "Where does the infiltrate lie?", "Centre of the image"),
    ("liver", "localize_in_image", "In which zone of the lobule is the change?", "periportal"),
    ("liver", "characterize_feature", "How is the necrosis distributed?", "multifocal"),
    ("liver", "characterize_feature", "How severe is the vacuolation?", "slight"),
    ("liver", "characterize_feature", "Which zone of the lobule is affected?", "Centrilobular"),
    ("liver", "characterize_feature", "Add three descriptors for the necrosis.", "Coagulative, acute, focal"),
    ("liver", "characterize_feature", "How severe is the hypertrophy?", "moderate"),
    ("liver", "identify_artifact", "Which artefact is visible?", "Tissue fold"),
    ("liver", "identify_artifact", "Name the artefactual change.", "Stain precipitate"),
    ("liver", "quantify_feature", "How many portal triads are visible?", "3"),
    ("liver", "quantify_feature", "How many central veins are in the field?", "two"),
    ("liver", "quantify_feature", "Which share of the parenchyma is necrotic?", "Approx. 50–60 %"),
    ("liver", "quantify_feature", "Which share of hepatocytes is vacuolated?", "about 25%"),
    ("kidney", "identify_pathology", "What is the main histopathologic change?", "Tubular necrosis"),
    ("kidney", "identify_pathology", "What lies in the lumina?", "hyaline casts"),
    ("kidney", "identify_pathology", "What is the main finding?", "Tubular basophilia"),
    ("kidney", "identify_pathology", "What has happened to the glomeruli?", "glomerulosclerosis"),
    ("kidney", "identify_pathology", "Which change do the tubules show?", "tubular dilatation"),
    ("kidney", "identify_pathology", "Which lesion is present?", "Interstitial nephritis"),
    ("kidney", "identify_anatomy", "Which renal region is represented?", "Cortex"),
    ("kidney", "identify_anatomy", "Which region is shown?", "outer medulla"),
    ("kidney", "identify_anatomy", "Which structure lies in the upper left?", "glomerulus"),
    ("kidney", "identify_anatomy", "Which vessel runs between the tubules?", "interlobular artery"),
    ("kidney", "identify_anatomy", "Which cell type lines these tubules?", "proximal tubular epithelial cell"),
    ("kidney", "localize_in_image", "Where is tubular necrosis most evident?", "Top third along the right edge"),
    ("kidney", "localize_in_image", "Where is the glomerulus?", "upper centre"),
    ("kidney", "localize_in_image", "Where is the cast?", "lower left"),
    ("kidney", "localize_in_image", "Where do the basophilic tubules lie?", "lower half"),
    ("kidney", "localize_in_image", "Where is the air bubble?", "upper right corner"),
    ("kidney", "characterize_feature", "How is the tubular basophilia distributed?", "focal"),
    ("kidney", "characterize_feature", "How severe is the dilatation?", "marked"),
    ("kidney", "characterize_feature", "Which compartment is affected?", "interstitium"),
    ("kidney", "identify_artifact", "Which artefact is visible?", "air bubble"),
    ("kidney", "identify_artifact", "What spoils the image?", "out of focus"),
    ("kidney", "identify_artifact", "Which artefact crosses the section?", "knife chatter"),
    ("kidney", "quantify_feature", "How many glomeruli are in the field?", "7"),
    ("kidney", "quantify_feature", "How many casts are visible?", "12"),
    ("kidney", "quantify_feature", "How many glomeruli are sclerotic?", "2 of 9 glomeruli"),
    ("kidney", "quantify_feature", "Which share of tubules is dilated?", "30 %"),
    ("lung", "identify_pathology", "What fills the air spaces?", "alveolar histiocytosis"),
    ("lung", "identify_pathology", "What fills the air spaces?", "Alveolar oedema"),
    ("lung", "identify_pathology", "What is the main change?", "suppurative inflammation"),
    ("lung", "identify_pathology", "What is the main change?", "interstitial fibrosis"),
    ("lung", "identify_pathology", "What is the red content?", "alveolar haemorrhage"),
    ("lung", "identify_anatomy", "Which airway is cut?", "bronchiole"),
    ("lung", "identify_anatomy", "Which vessel accompanies the airway?", "pulmonary artery"),
    ("lung", "identify_anatomy", "Which cell type lies free in the lumen?", "alveolar macrophage"),
    ("lung", "identify_anatomy", "Which cells dominate the exudate?", "neutrophils"),
    ("lung", "localize_in_image", "Where is the bronchiole?", "centre right"),
    ("lung", "localize_in_image", "Where does the oedema lie?", "right half"),
    ("lung", "localize_in_image", "Where is the fibrosis most pronounced?", "lower left quadrant"),
    ("lung", "characterize_feature", "How is the inflammation distributed?", "diffuse"),
    ("lung", "characterize_feature", "How severe is the oedema?", "severe"),
    ("lung", "characterize_feature", "Which compartment is affected?", "peribronchiolar"),
    ("lung", "identify_artifact", "Which artefact is visible?", "pen mark"),
    ("lung", "quantify_feature", "How many bronchioles are cut?", "1"),
    ("lung", "quantify_feature", "Which share of alveoli is filled?", "40–50 %"),
    ("heart", "identify_pathology", "What is the main change?", "myocardial necrosis"),
    ("heart", "identify_pathology", "What is the main change?", "Lymphocytic myocarditis"),
    ("heart", "identify_anatomy", "Which cell type is shown?", "cardiomyocytes"),
    ("heart", "localize_in_image", "Where is the change?", "upper edge"),
    ("heart", "characterize_feature", "How severe is the fibrosis?", "minimal"),
    ("thyroid", "identify_pathology", "What is the main change?", "haemorrhage"),
    ("thyroid", "characterize_feature", "How is the change distributed?", "segmental"),
    ("thyroid", "quantify_feature", "How many follicles are atrophic?", "15"),
)

_CLAIMS: tuple[tuple[str, str, str, bool], ...] = (
    ("liver", "probe_over_reading", "The liver is within normal limits.", True),
    ("liver", "probe_over_reading", "Mild steatosis is present.", False),
    ("liver", "probe_over_reading", "A hepatocellular adenoma is visible.", False),
    ("liver", "identify_pathology", "Hepatocellular necrosis is present.", True),
    ("liver", "identify_anatomy", "A central vein is represented.", True),
    ("liver", "identify_anatomy", "The renal cortex is shown.", False),
    ("kidney", "probe_over_reading", "Unremarkable renal cortex is represented.", True),
    ("kidney", "probe_over_reading", "Mild pyelonephritis is present.", False),
    ("kidney", "probe_over_reading", "The image shows an infarct.", False),
    ("kidney", "identify_anatomy", "The outer medulla is represented.", True),
    ("kidney", "identify_anatomy", "A bile duct is visible.", False),
    ("kidney", "identify_artifact", "A tissue fold is present.", True),
    ("lung", "probe_over_reading", "Severe alveolar emphysema is present.", False),
    ("lung", "probe_over_reading", "No abnormality is present.", True),
    ("lung", "identify_pathology", "There is alveolar oedema.", True),
    ("heart", "probe_over_reading", "Mild myositis is present.", False),
    ("heart", "probe_over_reading", "The myocardium is unremarkable.", True),
    ("heart", "identify_anatomy", "The epicardium is represented.", True),
    ("thyroid", "probe_over_reading", "Fibrosis is present.", False),
    ("lung", "identify_artifact", "An air bubble is visible.", False),
)


def _context(number: int, organ: str, category: str, question: str, answer: str, is_true: bool | None) -> SeedContext:
    return SeedContext.model_validate(
        {
            "seed_id": f"seed-{number:03}",
            "organ": organ,
            "species": "rat",
            "stain": "H&E",
            "source": "drawn slides",
            "magnification": "20x",
            "audience": "veterinary pathology residents",
            "question": question,
            "answer": answer,
            "is_true": is_true,
            "category": category,
        }
    )


SEEDS: tuple[SeedContext, ...] = tuple(
    [
        _context(n, organ, category, question, answer, None)
        for n, (organ, category, question, answer) in enumerate(_ROWS)
    ]
    + [
        _context(len(_ROWS) + n, organ, category, claim, str(truth).lower(), truth)
        for n, (organ, category, claim, truth) in enumerate(_CLAIMS)
    ]
)


def facts_of(seed: SeedContext, **changes: object) -> GenerationFacts:
    """Return the item writer's fields of a seed."""
    values = seed.model_dump(exclude={"audience"}) | {"formats": ("mcq", "kprim", "free_text")} | changes
    return GenerationFacts.model_validate(values)


@dataclass
class Rates:
    """How many items each attempt checked, and how many of them were guessed without the image."""

    checked: list[int] = field(default_factory=lambda: [0] * (MAX_REGENERATIONS + 1))
    guessed: list[int] = field(default_factory=lambda: [0] * (MAX_REGENERATIONS + 1))

    @property
    def share(self) -> float:
        """The share of all checked items that were guessed."""
        return sum(self.guessed) / sum(self.checked)

    @property
    def escalated(self) -> float:
        """The share of seeds whose item was guessed after every regeneration."""
        return self.guessed[-1] / self.checked[0]


def check_all(seeds: tuple[SeedContext, ...] = SEEDS) -> tuple[Rates, Rates]:
    """Write, check and regenerate all seeds as the pipeline does; return the rates for MCQ and KPrim."""
    mcq_rates, kprim_rates = Rates(), Rates()
    for seed in seeds:
        variants = read_variants(write_items(facts_of(seed)))
        rng = random.Random(seed.seed_id)
        mcq, kprim = variants.mcq.to_item(rng), variants.kprim.to_item(rng)
        for attempt in range(MAX_REGENERATIONS + 1):
            if attempt:
                failed = (mcq.stem, *(option.text for option in mcq.options))
                text = write_items(facts_of(seed, formats=("mcq",), attempt=attempt, failed_texts=failed))
                mcq = read_mcq(text).to_item(rng)
            if not _note(mcq_rates, attempt, _mcq_guessed(mcq, f"{seed.seed_id}:{attempt}")):
                break
        for attempt in range(MAX_REGENERATIONS + 1):
            if attempt:
                failed = (kprim.stem, *(statement.text for statement in kprim.statements))
                text = write_items(facts_of(seed, formats=("kprim",), attempt=attempt, failed_texts=failed))
                kprim = read_kprim(text).to_item(rng)
            if not _note(kprim_rates, attempt, _kprim_guessed(kprim, f"{seed.seed_id}:{attempt}")):
                break
    return mcq_rates, kprim_rates


def _note(rates: Rates, attempt: int, guessed: bool) -> bool:
    rates.checked[attempt] += 1
    rates.guessed[attempt] += guessed
    return guessed


def _mcq_guessed(item: MultipleChoice, key: str) -> bool:
    corrects = []
    for trial in range(GUESS_TRIALS):
        shown = item.reordered(trial_order(key, trial))
        facts = QuestionFacts(format="mcq", stem=shown.stem, choices=tuple(option.text for option in shown.options))
        corrects.append(read_mcq_guess(answer_test_wise(facts, "check", trial)).answer_index == shown.key)
    return mcq_is_guessable(corrects)


def _kprim_guessed(item: KPrim, key: str) -> bool:
    facts = QuestionFacts(
        format="kprim", stem=item.stem, choices=tuple(statement.text for statement in item.statements)
    )
    counts = []
    for trial in range(GUESS_TRIALS):
        guess = read_kprim_guess(answer_test_wise(facts, "check", hash_of(key, trial)))
        counts.append(sum(said == truth for said, truth in zip(guess.answers, item.truth, strict=True)))
    return kprim_is_guessable(counts)


def hash_of(key: str, trial: int) -> int:
    """A seed that differs between items and trials."""
    return random.Random(f"{key}:{trial}").randrange(2**31)


if __name__ == "__main__":
    for name, rates in zip(("MCQ", "KPrim"), check_all(), strict=True):
        per_attempt = ", ".join(f"{g}/{c}" for g, c in zip(rates.guessed, rates.checked, strict=True))
        print(f"{name}: guessed per attempt {per_attempt}; overall {rates.share:.1%}; escalated {rates.escalated:.1%}")  # noqa: T201
