#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Diagnoses exported networks with random weights in which nothing is wrong: a finding above a note is a false alarm.

    tests/bench/healthy.py FOLDER [--cli build/release/bin/retrograde-cli] [--threads 1] [--seed 1] [NAME …]

Makes FOLDER/NAME/model.onnx and input.npy where they are missing. Weights are those that the libraries make,
statistics of BatchNorm those of eight batches of such inputs, the best score is explained. Prints a line per network,
the findings of level warning and above, and below all the largest statistic of every check. Exit status 1 where more
than one such finding was made.

Needs PyTorch, torchvision, transformers, onnx and numpy.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys

OPSET = 17


def of_torchvision(name, size=64, **options):
    def make(torch):
        import torchvision

        make_one = getattr(torchvision.models, name, None) or getattr(torchvision.models.segmentation, name, None) \
            or getattr(torchvision.models.video, name)
        return make_one(weights=None, **options), lambda: picture(torch, size, video=name.startswith("r3d"))
    return make


def picture(torch, size, channels=3, video=False):
    """Soft blobs and some noise, about as a normalised picture has them."""
    shape = (1, channels) + ((4,) if video else ()) + (size // 8, size // 8)
    soft = torch.nn.functional.interpolate(torch.randn(shape), size=(4, size, size) if video else (size, size),
                                           mode="trilinear" if video else "bicubic")
    return (1.2 * soft + 0.1 * torch.randn_like(soft)).clamp(-2.2, 2.6)


def of_transformers(kind, config, sizes, output="logits", tokens=24):
    def make(torch):
        import transformers

        class Scores(torch.nn.Module):
            def __init__(self, model):
                super().__init__()
                self.model = model

            def forward(self, x):
                extra = {}
                if x.dtype == torch.int64:
                    extra["attention_mask"] = torch.ones_like(x)
                    if kind.endswith("CausalLM") or "GPT2" in kind:
                        extra["use_cache"] = False
                return getattr(self.model(x, **extra), output)

        made = getattr(transformers, kind)(getattr(transformers, config)(attn_implementation="eager", **sizes))
        words = sizes.get("vocab_size", 500)
        is_text = "image_size" not in sizes
        return Scores(made), lambda: (torch.randint(3, words, (1, tokens)) if is_text
                                      else picture(torch, sizes["image_size"]))
    return make


def of_own(build, example):
    return lambda torch: (build(torch), lambda: example(torch))


def mixer(torch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, tokens, width):
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.tokens = nn.Sequential(nn.Linear(tokens, 2 * tokens), nn.GELU(), nn.Linear(2 * tokens, tokens))
            self.channels = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            x = x + self.tokens(self.ln1(x).transpose(1, 2)).transpose(1, 2)
            return x + self.channels(self.ln2(x))

    class Mixer(nn.Module):
        def __init__(self):
            super().__init__()
            self.patch = nn.Conv2d(3, 64, 8, 8)
            self.blocks = nn.Sequential(*[Block(64, 64) for _ in range(8)])
            self.ln, self.head = nn.LayerNorm(64), nn.Linear(64, 100)

        def forward(self, x):
            return self.head(self.ln(self.blocks(self.patch(x).flatten(2).transpose(1, 2))).mean(1))

    return Mixer()


def unet(torch):
    nn = torch.nn

    def two(inside, out):
        return nn.Sequential(nn.Conv2d(inside, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(),
                             nn.Conv2d(out, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU())

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            widths = [16, 32, 64, 128]
            self.down = nn.ModuleList([two(i, o) for i, o in zip([3] + widths[:-1], widths)])
            self.up = nn.ModuleList([nn.ConvTranspose2d(o, i, 2, 2) for i, o in zip(widths[:-1], widths[1:])])
            self.join = nn.ModuleList([two(2 * w, w) for w in widths[:-1]])
            self.head = nn.Conv2d(16, 5, 1)

        def forward(self, x):
            kept = []
            for i, down in enumerate(self.down):
                x = down(x if i == 0 else nn.functional.max_pool2d(x, 2))
                kept.append(x)
            for i in (2, 1, 0):
                x = self.join[i](torch.cat([kept[i], self.up[i](x)], 1))
            return self.head(x)

    return UNet()


def recurrent(kind):
    def build(torch):
        nn = torch.nn

        class Recurrent(nn.Module):
            def __init__(self):
                super().__init__()
                self.embedding = nn.Embedding(200, 48)
                self.cell = getattr(nn, kind)(48, 64, 2, batch_first=True, bidirectional=True)
                self.head = nn.Linear(128, 8)

            def forward(self, x):
                return self.head(self.cell(self.embedding(x))[0].mean(1))

        return Recurrent()
    return build


def temporal(torch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, width, dilation):
            super().__init__()
            self.conv = nn.Conv1d(width, width, 3, padding=dilation, dilation=dilation)
            self.norm = nn.BatchNorm1d(width)

        def forward(self, x):
            return x + torch.relu(self.norm(self.conv(x)))

    return nn.Sequential(nn.Conv1d(4, 32, 5, padding=2), *[Block(32, 2 ** i) for i in range(5)],
                         nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 6))


def squeezed(torch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.way = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(4, width), nn.SiLU(),
                                     nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(4, width))
            self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(width, width // 4, 1), nn.ReLU(),
                                      nn.Conv2d(width // 4, width, 1), nn.Sigmoid())

        def forward(self, x):
            y = self.way(x)
            return nn.functional.silu(x + y * self.gate(y))

    return nn.Sequential(nn.Conv2d(3, 32, 7, 2, 3), nn.SiLU(), *[Block(32) for _ in range(4)],
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))


def plain(torch):
    nn = torch.nn
    return nn.Sequential(nn.Flatten(), nn.Linear(28 * 28, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(),
                         nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))


def discriminator(torch):
    nn = torch.nn
    widths = [3, 16, 32, 64, 128]
    parts = [nn.Sequential(nn.Conv2d(i, o, 4, 2, 1), nn.InstanceNorm2d(o, affine=True), nn.LeakyReLU(0.2))
             for i, o in zip(widths, widths[1:])]
    return nn.Sequential(*parts, nn.Flatten(), nn.Linear(128 * 16, 3))


SMALL = {"hidden_size": 96, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 256}
TEXT = {**SMALL, "vocab_size": 500, "num_labels": 6}
NETWORKS = {
    **{name: of_torchvision(name) for name in (
        "resnet18", "resnet50", "resnext50_32x4d", "densenet121", "squeezenet1_1", "mobilenet_v2", "mobilenet_v3_small",
        "shufflenet_v2_x0_5", "mnasnet0_5", "efficientnet_b0", "regnet_x_400mf", "regnet_y_400mf", "convnext_tiny",
        "swin_t", "swin_v2_t")},
    "vgg11_bn": of_torchvision("vgg11_bn", 224),  # its pooling cannot be exported for smaller pictures
    "alexnet": of_torchvision("alexnet", 224),
    "googlenet": of_torchvision("googlenet", 96, aux_logits=False, init_weights=False),
    "vit_tiny": of_transformers("ViTForImageClassification", "ViTConfig",
                                {**SMALL, "image_size": 64, "patch_size": 8, "num_labels": 10}),
    "deit": of_transformers("DeiTForImageClassification", "DeiTConfig",
                            {**SMALL, "image_size": 64, "patch_size": 8, "num_labels": 10}),
    "lraspp": of_torchvision("lraspp_mobilenet_v3_large", 64, weights_backbone=None, num_classes=6),
    "r3d_18": of_torchvision("r3d_18", 32),
    "bert": of_transformers("BertForSequenceClassification", "BertConfig", TEXT),
    "roberta": of_transformers("RobertaForSequenceClassification", "RobertaConfig", TEXT),
    "electra": of_transformers("ElectraForSequenceClassification", "ElectraConfig", TEXT),
    "albert": of_transformers("AlbertForSequenceClassification", "AlbertConfig", TEXT),
    "distilbert": of_transformers("DistilBertForSequenceClassification", "DistilBertConfig",
                                  {"dim": 96, "n_layers": 4, "n_heads": 4, "hidden_dim": 256, "vocab_size": 500}),
    "gpt2": of_transformers("GPT2LMHeadModel", "GPT2Config", {"n_embd": 96, "n_layer": 4, "n_head": 4,
                                                                "vocab_size": 500}),
    "llama": of_transformers("LlamaForCausalLM", "LlamaConfig", {**SMALL, "vocab_size": 500}),
    "mixer": of_own(mixer, lambda torch: picture(torch, 64)),
    "unet": of_own(unet, lambda torch: picture(torch, 64)),
    "squeezed": of_own(squeezed, lambda torch: picture(torch, 64)),
    "discriminator": of_own(discriminator, lambda torch: picture(torch, 64)),
    "lstm": of_own(recurrent("LSTM"), lambda torch: torch.randint(0, 200, (1, 20))),
    "gru": of_own(recurrent("GRU"), lambda torch: torch.randint(0, 200, (1, 20))),
    "temporal": of_own(temporal, lambda torch: torch.randn(1, 4, 96)),
    "mlp": of_own(plain, lambda torch: picture(torch, 32, 1)[:, :, :28, :28].contiguous()),
    **{name: of_torchvision(name) for name in (
        "resnet34", "wide_resnet50_2", "densenet169", "squeezenet1_0", "mobilenet_v3_large", "efficientnet_v2_s",
        "mnasnet1_0", "regnet_y_800mf", "convnext_small")},
    "inception_v3": of_torchvision("inception_v3", 96, aux_logits=False, init_weights=False),
    "fcn": of_torchvision("fcn_resnet50", 64, weights_backbone=None, num_classes=6),
    "deeplab": of_torchvision("deeplabv3_mobilenet_v3_large", 64, weights_backbone=None, num_classes=6),
    **{name.lower(): of_transformers(f"{name}ForImageClassification", f"{name}Config",
                                     {**SMALL, "image_size": 64, "patch_size": 8, "num_labels": 10})
       for name in ("Beit", "Dinov2", "ViTMSN")},
    **{name.lower(): of_transformers(f"{name}ForSequenceClassification", f"{name}Config", TEXT)
       for name in ("Camembert", "XLMRoberta", "MPNet", "ConvBert", "Ernie", "RoFormer", "MegatronBert")},
    **{name.lower(): of_transformers(f"{name}ForCausalLM", f"{name}Config", {**SMALL, "vocab_size": 500, "num_key_value_heads": 2})
       for name in ("Mistral", "Qwen2", "Gemma", "Phi", "GPTNeoX", "OPT")},
}


def calibrate(torch, model, make_example):
    """Statistics of BatchNorm as a training on such inputs would leave them."""
    norms = [m for m in model.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    if not norms:
        return
    dropouts = [m for m in model.modules() if "Dropout" in type(m).__name__ or type(m).__name__ == "StochasticDepth"]
    model.train()
    for dropout in dropouts:
        dropout.eval()
    for norm in norms:
        norm.momentum = None  # the mean over all batches
        norm.reset_running_stats()
    with torch.no_grad():
        for _ in range(8):
            model(torch.cat([make_example() for _ in range(8)]))


def make(name, folder, seed):
    import numpy
    import torch

    torch.manual_seed(seed)
    model, make_example = NETWORKS[name](torch)
    example = make_example()
    calibrate(torch, model, make_example)
    model.eval()
    folder.mkdir(parents=True, exist_ok=True)

    class First(torch.nn.Module):
        """Segmentation networks answer with a dictionary."""

        def __init__(self):
            super().__init__()
            self.network = model

        def forward(self, x):
            y = self.network(x)
            return y["out"] if isinstance(y, dict) else y

    whole = First() if isinstance(model(example), dict) else model
    torch.onnx.export(whole.eval(), (example,), str(folder / "model.onnx"), opset_version=OPSET, input_names=["x"],
                      output_names=["scores"], dynamo=False)
    numpy.save(folder / "input.npy", example.numpy())


def diagnose(cli, folder, threads):
    command = [cli, "diagnose", str(folder / "model.onnx"), "--input", str(folder / "input.npy"), "--json", "--threads",
               str(threads)]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        sys.exit(f"{' '.join(command)}: {ran.stderr}")
    return json.loads(ran.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", default=list(NETWORKS))
    parser.add_argument("--cli", default="build/release/bin/retrograde-cli")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    alarms, largest = 0, {}
    for name in options.names:
        folder = options.folder / name
        if not (folder / "input.npy").exists():
            make(name, folder, options.seed)
        found = diagnose(options.cli, folder, options.threads)
        loud = [f for f in found["findings"] if f["level"] != "note"]
        alarms += len(loud)
        print(f"{name:20} {len(found['findings']) - len(loud)} notes {len(loud)} above", flush=True)
        for finding in loud:
            where = finding["node"] or finding["value"]
            print(f"    {finding['level']} {finding['id']} {where} {finding['text']}", flush=True)
        for check in found["checks"]:
            statistic = (check.get("largest") or {}).get("statistic")
            if statistic is not None and math.isfinite(statistic):
                largest[check["id"]] = max(largest.get(check["id"], (-math.inf, "")), (statistic, name))
    print(f"\n{len(options.names)} networks, {alarms} findings above a note\n")
    for check, (statistic, name) in sorted(largest.items()):
        print(f"{check:24} {statistic:12.5g} {name}")
    return alarms > 1


if __name__ == "__main__":
    sys.exit(main())
