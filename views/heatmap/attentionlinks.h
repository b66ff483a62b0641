// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/colormap.h"
#include "views/common/viewcontext.h"

#include <QRectF>
#include <QString>

#include <functional>
#include <vector>

class QPainter;

namespace retro::views
{

class Theme;

/// The relevance that one word handed to another through an attention, both counted from 0.
struct AttentionLink
{
    std::size_t reader = 0; ///< whose result it was
    std::size_t source = 0; ///< whose value it came from
    double relevance = 0;   ///< Σ over heads and features
};

/// A product of weights and values that a run recorded: A · V, with the weights from a softmax; or an attention that is
/// one node, whose weights are worked out from its queries and keys.
struct AttentionPlace
{
    base::NodeId node;
    base::ValueId weights; ///< invalid: one node
    base::ValueId values;
    base::ValueId result;
    std::int64_t heads = 1;
    QString name; ///< of the node, short
};

/// The attentions of a run over `words` words, in the order of the graph. A fused one with a mask, a past or heads that
/// share keys is none: open it first.
[[nodiscard]] std::vector<AttentionPlace> attentionsOf(const RunModel& model, std::size_t words);

/// What each word handed to each other at the cursor: R of the result goes to source j for Σ A[i,j]·V[j,d] /
/// (A·V)[i,d], 0 at 0/0, so that the links of a reader add up to its relevance where nothing cancels to 0. `head` −1 =
/// all together. The largest by magnitude first. Empty where relevance has not arrived, or forward values were not
/// kept.
[[nodiscard]] std::vector<AttentionLink> attentionLinks(const RunModel& model, const AttentionPlace& place,
                                                        std::int64_t head);

/// Links between a row of readers at the top of a room and a row of sources at its bottom; `columnOf` gives the middle
/// of a word. Those below a share of the largest are left out.
void paintLinks(QPainter& painter, const std::vector<AttentionLink>& links, const QRectF& room,
                const std::function<double(std::size_t)>& columnOf, const ColorMap& map, const Theme& theme);

} // namespace retro::views
