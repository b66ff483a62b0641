# SPDX-License-Identifier: Apache-2.0
"""Captures of other frameworks, plans carried out in them, and the command line driven from Python (docs/capture.md).

Each module is imported by its own name, so that PyTorch or JAX is needed by what uses it alone:

    from retrograde.capture import torchcapture
    torchcapture.capture(module, x, path="net.json")
"""
