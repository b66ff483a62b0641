// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace retro::app
{

/// Something to time after something that is not timed; both say whether they worked.
struct PreparedBody
{
    std::string name;
    std::function<bool()> prepare;
    std::function<bool()> run;
};

/// Explanations (forward pass and relevance) of networks of the shapes of VGG16, ResNet-18 and ResNet-50 at batch 1 and
/// 8, and of a stack like GPT-2's, as they follow each other on one model: relevance/NETWORK/COMPOSITE/BATCH. Only one
/// network is there at a time: preparing a benchmark of another one drops it. diagnose/NETWORK/explained and
/// …/checked: one explanation of a model by itself, and the same with the checks that go along.
[[nodiscard]] std::vector<PreparedBody> relevanceBenchmarks();

} // namespace retro::app
