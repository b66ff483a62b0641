// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

#include <QString>
#include <QStringList>

#include <vector>

namespace retro::views
{

/// What a person asks in the run panel. Plain text as on the command line.
struct Question
{
    QString input;     ///< file, "zeros", "random:1"; empty = none chosen
    QString target;    ///< "argmax" or a class index
    QString start;     ///< "logit", "one", …
    QString composite; ///< built-in name
    bool operator==(const Question&) const = default;
};

/// An input that can be chosen by name.
struct InputChoice
{
    QString label; ///< "jug-tagged.png"
    QString source;
};

/// What the run panel says of the model. Plain values.
struct ModelFacts
{
    QString name;    ///< "clever-hans.onnx"; empty = nothing open
    QString summary; ///< "27 nodes · 5 classes · 0.43 MB"
    QStringList labels;
    std::vector<InputChoice> inputs;
    bool takesPictures = false;
    QString problem; ///< what is unsupported; empty = nothing
};

/// A small heatmap of another composite for the present input.
struct CompositeThumbnail
{
    QString composite;
    tensor::Tensor relevance;
};

} // namespace retro::views
