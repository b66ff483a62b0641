// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"
#include "views/run/preparation.h"

#include <QImage>
#include <QString>
#include <QStringList>

#include <vector>

namespace retro::views
{

/// An input that can be chosen by name.
struct InputChoice
{
    QString label; ///< "jug-tagged.png"
    QString source;
};

/// One thing that a rewrite did to the graph, or why it did not.
struct RewriteLine
{
    QString text;
    QString node;        ///< that it made or took; empty = none
    bool isNote = false; ///< nothing was changed
};

/// A rewrite of the graph, as the run panel lists it.
struct RewriteFacts
{
    QString name;  ///< as on the command line: "fuse-linear"
    QString title; ///< "Fuse linear layers"
    QString tip;
    bool isOn = true;
    std::vector<RewriteLine> steps = {};
    bool isOptional = false; ///< off unless a person switches it on
};

/// What the run panel says of the model. Plain values.
struct ModelFacts
{
    QString name;    ///< "clever-hans.onnx"; empty = nothing open
    QString summary; ///< "27 nodes · 5 classes · 0.43 MB"; of a recorded run what its model is
    QStringList labels;
    std::vector<InputChoice> inputs;
    bool takesPictures = false;
    QString problem;                ///< what is unsupported; empty = nothing
    bool offersPassThrough = false; ///< what is unsupported can be asked to hand its operand on
    bool hasLutLayers = false;      ///< where they run can be chosen
    bool hasLoops = false;          ///< Loop or Scan: how often they keep what they carry can be chosen
    QStringList values = {};        ///< names of the values that can be explained
    Preparation preparation = {};
    bool isRecorded = false;                 ///< a recorded run of that model is open, not the model itself
    std::vector<RewriteFacts> rewrites = {}; ///< all there are, in the order in which they are applied
    QStringList checkpoints = {};            ///< that its card keeps
    bool stopsAtCheckpoints = false;
    QString reopen = {};             ///< where the model of a recorded run lies; empty = not known
    QStringList recordedInputs = {}; ///< what the run was given, where all of that still lies there; else empty
    /// What `problem` names blocks only what depends on it: other targets can be explained.
    bool runsInPart = false;
    /// It reads tokens: a text is asked for in place of a file.
    bool readsTexts = false;
    QString shapes = {};    ///< that its inputs were given, as Question has them
    QString shapeHint = {}; ///< of its inputs, with their free axes: "N×3×?×?"; empty = no axis is free
    QString file = {};      ///< where it lies; empty of a recorded run
    QString composite = QStringLiteral("auto"); ///< that its card names, else `auto`
    QStringList rules = {};                     ///< put before it there
};

/// What the model is given, small: the picture, and the range of its numbers or what is wrong with them.
struct InputPreview
{
    QImage picture;  ///< null for inputs that are no pictures
    QString figures; ///< "3 × 96 × 96, −2.1 to 2.6"
    QString problem; ///< why the input cannot be used; empty = it can
};

/// What is known of a question before it runs.
struct QuestionCheck
{
    InputPreview preview;
    QString rules;         ///< "z-plus 12 · epsilon 1"
    QString problem;       ///< what is refused, by name; empty = it can run
    QString reason = {};   ///< why "auto" chose these rules; empty where a person chose
    QString estimate = {}; ///< what the run will take: "6 tokens · 1.2 GB at most · about 2 s"; empty = not known
};

/// A small heatmap of another composite for the present input.
struct CompositeThumbnail
{
    QString composite;
    tensor::Tensor relevance;
    bool isSteps = false; ///< a text or a series, not a picture
};

} // namespace retro::views
