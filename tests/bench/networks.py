#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Well-known networks with random weights as ONNX files whose batch is free, for explainer.py.

networks.py FOLDER [NAME …]

Needs PyTorch, torchvision, transformers and onnx. Makes FOLDER/NAME.onnx where it is missing.
"""
import argparse
import pathlib

VISION = ("resnet18", "resnet50", "vgg16", "mobilenet_v2", "efficientnet_b0", "densenet121", "convnext_tiny",
          "vit_b_16")
TEXT = ("bert", "gpt2")
TOKENS = 32
LIVES = 1e-3  # standard deviation of scores


def settle(torch, model, example):
    """Gives each BatchNorm the statistics of what comes to it, as a training would. With others a deep network dies
    out: its scores become 1e-14, and its relevance nothing that float32 could hold."""
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.reset_running_stats()
            module.momentum = 1
    with torch.no_grad():
        model.train()(example)


def vision_model(torch, name):
    import relevance
    import torchvision

    model = torchvision.models.get_model(name, weights=None)
    relevance.enliven(torch, model)  # fresh weights die out, or are 0 in the last layer
    example = torch.randn(8, 3, 224, 224)
    with torch.no_grad():
        dies_out = float(model.eval()(example).std()) < LIVES
    if dies_out:
        settle(torch, model, example)
    return model, torch.randn(2, 3, 224, 224)


def text_model(torch, name):
    import transformers

    class Scores(torch.nn.Module):
        """Tokens in, scores out."""

        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, input_ids):
            mask = torch.ones_like(input_ids)
            own = {"use_cache": False} if name == "gpt2" else {}
            return self.model(input_ids=input_ids, attention_mask=mask, **own).logits

    eager = {"attn_implementation": "eager"}
    if name == "bert":
        model = transformers.BertForSequenceClassification(transformers.BertConfig(num_labels=10, **eager))
    else:
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**eager))
    return Scores(model), torch.randint(0, 1000, (2, TOKENS))


def make(name, file):
    import torch

    torch.manual_seed(1)
    is_text = name in TEXT
    model, example = text_model(torch, name) if is_text else vision_model(torch, name)
    source = "input_ids" if is_text else "image"
    torch.onnx.export(model.eval(), (example,), str(file), opset_version=17, input_names=[source],
                      output_names=["scores"], dynamic_axes={source: {0: "N"}, "scores": {0: "N"}}, dynamo=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", default=VISION + TEXT)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names:
        file = arguments.folder / f"{name}.onnx"
        if not file.exists():
            make(name, file)
            print(file, file.stat().st_size, flush=True)


if __name__ == "__main__":
    main()
