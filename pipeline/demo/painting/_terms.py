"""The field's words that the recorded truth of a drawn slide can give, by organ and dimension."""

from __future__ import annotations

IMAGE_ZONES: tuple[str, ...] = (
    "upper left",
    "upper centre",
    "upper right",
    "centre left",
    "centre",
    "centre right",
    "lower left",
    "lower centre",
    "lower right",
)
"""The nine zones of an image, row by row."""

SEVERITIES: tuple[str, ...] = ("minimal", "slight", "moderate", "severe")
"""The grades that toxicologic pathology reports use, in rising order."""

DISTRIBUTIONS: tuple[str, ...] = ("focal", "multifocal", "diffuse", "zonal")

ARTEFACTS: tuple[str, ...] = (
    "tissue fold",
    "stain precipitate",
    "pen mark",
    "air bubble",
    "out-of-focus area",
    "knife chatter",
)

DEMO_TERMS: dict[str, dict[str, list[str]]] = {
    "generic": {
        "location": list(IMAGE_ZONES),
        "distribution": list(DISTRIBUTIONS),
        "severity": list(SEVERITIES),
        "cell_type": [
            "lymphocyte",
            "neutrophil",
            "macrophage",
            "fibroblast",
            "erythrocyte",
            "endothelial cell",
        ],
        "lesion": ["no abnormality"],
        "artefact": list(ARTEFACTS),
        "structure": ["artery", "vein"],
    },
    "liver": {
        "location": ["centrilobular", "midlobular", "periportal", "portal tract", "parenchyma"],
        "distribution": list(DISTRIBUTIONS),
        "severity": list(SEVERITIES),
        "cell_type": [
            "hepatocyte",
            "Kupffer cell",
            "bile duct epithelial cell",
            "lymphocyte",
            "endothelial cell",
            "erythrocyte",
        ],
        "lesion": [
            "hepatocellular necrosis",
            "hepatocellular vacuolation",
            "hepatocellular hypertrophy",
            "mononuclear cell infiltrate",
            "bile duct hyperplasia",
            "pigment deposit",
            "haemorrhage",
        ],
        "artefact": list(ARTEFACTS),
        "structure": [
            "central vein",
            "portal triad",
            "bile duct",
            "portal vein",
            "hepatic artery",
            "sinusoid",
        ],
    },
    "kidney": {
        "location": ["cortex", "outer medulla", "interstitium", "renal tubule", "glomerulus"],
        "distribution": list(DISTRIBUTIONS),
        "severity": list(SEVERITIES),
        "cell_type": [
            "proximal tubular epithelial cell",
            "distal tubular epithelial cell",
            "glomerular cell",
            "lymphocyte",
            "endothelial cell",
        ],
        "lesion": [
            "tubular necrosis",
            "hyaline cast",
            "tubular dilatation",
            "tubular basophilia",
            "mononuclear cell infiltrate",
            "glomerulosclerosis",
        ],
        "artefact": list(ARTEFACTS),
        "structure": [
            "cortex",
            "outer medulla",
            "glomerulus",
            "proximal tubule",
            "distal tubule",
            "interlobular artery",
        ],
    },
    "lung": {
        "location": ["alveolus", "alveolar septum", "peribronchiolar", "interstitium"],
        "distribution": list(DISTRIBUTIONS),
        "severity": list(SEVERITIES),
        "cell_type": [
            "alveolar macrophage",
            "pneumocyte",
            "bronchiolar epithelial cell",
            "smooth muscle cell",
            "neutrophil",
            "lymphocyte",
            "fibroblast",
            "erythrocyte",
        ],
        "lesion": [
            "alveolar histiocytosis",
            "alveolar oedema",
            "suppurative inflammation",
            "interstitial fibrosis",
            "alveolar haemorrhage",
            "mononuclear cell infiltrate",
        ],
        "artefact": list(ARTEFACTS),
        "structure": ["alveolus", "alveolar septum", "bronchiole", "pulmonary artery", "pulmonary vein"],
    },
}
"""Every word that an answer drawn from a truth file can hold; `generic` holds for all organs."""
