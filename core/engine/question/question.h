// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace retro::engine
{

/// What a person asks of a model, as typed: on the command line or in the run panel. A text or list that is empty was
/// not said; then the model's card decides, else the usual value. fields.h is the table of these members.
struct Question
{
    // The model, as it is read.
    std::vector<std::string> shapes; ///< of inputs: NAME=2x3x48x192
    bool noWeights = false;          ///< weights stay in the file
    bool noFold = false;
    bool noMergeBatchNorm = false;
    std::vector<std::string> noRewrite; ///< rewrites that are off, by name
    std::vector<std::string> rewrite;   ///< optional ones that are on, by name
    bool passThrough = false;           ///< operators that are not implemented hand their operand on
    std::string lutPath;                ///< of LUT layers; not said = the model's
    std::string lutBackend;             ///< cpu, cuda, auto

    // Its inputs, and how pixels become numbers.
    std::vector<std::string> inputs;    ///< NAME=FILE, zeros, random:SEED
    std::vector<std::string> mean;      ///< numbers, or "none"
    std::vector<std::string> deviation; ///< numbers, or "none"
    std::string layout;
    std::string channels;
    std::vector<std::string> scale; ///< two numbers
    std::string pixels;             ///< shown, stored
    std::string frame;              ///< formats::isFrame()

    // Its text, where it reads tokens (docs/language.md).
    std::string text;
    std::string tokenizer; ///< file
    std::string ids;       ///< 1,2,3 in place of a text
    std::string position;
    std::string positions;             ///< 3,7,-1
    std::vector<std::string> contrast; ///< words, or numbers of tokens
    bool targetTokens = false;         ///< of a word of several tokens, the first
    std::string generate;
    std::string continuation;
    std::string layers;    ///< file
    std::string attention; ///< all, or numbers of layers
    std::string html;      ///< file

    // What is explained.
    std::vector<std::string> targets;
    std::string start;
    std::string composite;
    std::vector<std::string> rules; ///< put before the composite
    std::vector<std::string> checkpoints;
    std::vector<std::string> region;     ///< NAME=MASK.npy
    std::string regionBox;               ///< y0:y1,x0:x1
    std::string regionTokens;            ///< 2-4
    std::vector<std::string> conditions; ///< VALUE:axis=1:3,7
    std::string conditionForm;
    bool stopAtCheckpoints = false;
    std::vector<std::string> from; ///< inputs that get gradients

    // How.
    std::string precision;
    std::string engine;
    std::string traversal; ///< "document": as the source document has it
    std::string save;
    std::string plan; ///< file
    std::string budget;
    std::string strategy;
    std::string planOrder;
    std::string planSeconds;
    std::string tier;
    std::string secondsPerCost;
    std::string planRows;
    std::string forward;
    std::string forwardBudget;
    std::vector<std::string> forwardValues; ///< NAME=FORM
    std::string checkpointEvery;
    bool goOn = false; ///< past numbers that are not finite
    bool inputsOnly = false;
    bool parameters = false;

    // What else is to come out.
    std::string run; ///< file
    std::string image;
    std::string bits;
    std::string colormap;
    bool overlay = false;
    std::vector<std::string> open; ///< fused nodes
    bool checkOracle = false;
    std::string graphOut;
    bool profile = false;
    std::string profileRows;

    bool operator==(const Question&) const = default;
};

} // namespace retro::engine
