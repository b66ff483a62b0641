// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/diagnosis/finding.h"
#include "core/engine/question/question.h"
#include "core/formats/modelcard.h"
#include "core/graph/graph.h"
#include "core/tensor/tensor.h"

#include <QRect>
#include <QString>

#include <vector>

namespace retro::app
{

/// By which means of the window an action is carried out.
enum class MendBy : std::uint8_t {
    Nothing,     ///< the window has none: the command line's form is shown as text
    Question,    ///< another question is asked
    Dialog,      ///< a rule is chosen in the dialog for rules
    Weights,     ///< a constant is shown
    SelectBoth,  ///< two nodes are selected
    ChooseInput, ///< an input is chosen in the dialog for files
    Cover,       ///< pixels are covered
    Transpose,   ///< the input's axes get another order
    Rescale      ///< scale, mean and deviation of the card are applied to an array
};

/// What is on screen, as far as an action has to do with it.
struct MendStage
{
    engine::Question question;
    const graph::Graph* graph = nullptr;      ///< of the run; null = none
    const formats::ModelCard* card = nullptr; ///< null = none
    QString reference = {};                   ///< file that is compared with; empty = none
    bool isPicture = false;                   ///< the input is shown as a picture
    bool isRecorded = false;                  ///< there is no model to ask
};

/// How the action of a finding is carried out in the window.
struct Mend
{
    MendBy by = MendBy::Nothing;
    QString text = {}; ///< of its button
    QString tip = {};
    engine::Question question = {};       ///< MendBy::Question
    base::NodeId node = {};               ///< that it is about
    base::NodeId other = {};              ///< MendBy::SelectBoth
    base::ValueId value = {};             ///< MendBy::Weights
    QRect cover = {};                     ///< MendBy::Cover
    std::vector<std::int64_t> order = {}; ///< MendBy::Transpose: axis i of the result is that axis of the input
};

/// What the window can do about a finding; MendBy::Nothing when it cannot do anything.
[[nodiscard]] Mend mendOf(const diagnosis::Finding& finding, const MendStage& stage);

/// The input with its axes in another order, contiguous. Errors (Input): the order is none of its axes.
[[nodiscard]] base::Result<tensor::Tensor> transposed(const tensor::Tensor& input,
                                                      const std::vector<std::int64_t>& order);
/// An array of pixels, 0 … 255 or 0 … 1, as a picture of the card becomes an input: scale, mean and deviation per
/// channel. float32. Errors (Input): not four axes, or its channels are not those of the card.
[[nodiscard]] base::Result<tensor::Tensor> rescaled(const tensor::Tensor& input, const formats::ModelCard& card);

} // namespace retro::app
