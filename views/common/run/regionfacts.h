// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"
#include "views/common/paint/plane.h"

#include <QObject>
#include <QString>

#include <memory>
#include <optional>
#include <vector>

namespace retro::views
{

/// What one value puts into a region.
struct RegionPart
{
    base::ValueId value;
    double total = 0;                 ///< Σ R·w
    double relevance = 0;             ///< Σ R
    std::optional<double> arrives;    ///< Σ R·w of a region that is all inputs
    std::optional<std::size_t> axis;  ///< of channels, heads or features
    std::vector<double> perChannel{}; ///< Σ R·w along it
};

/// How much of every element's relevance ends in a region of the input. Immutable.
struct RegionFacts
{
    std::shared_ptr<const trace::Run> run; ///< that it is of
    QString text;                          ///< the region in words
    double total = 0;                      ///< Σ mask · R of the inputs
    double arrived = 0;                    ///< Σ R of the inputs
    std::vector<RegionPart> parts;         ///< by value
    std::vector<tensor::Tensor> weights;   ///< by ValueId: w; invalid = zero
    std::vector<tensor::Tensor> relevance; ///< by ValueId; invalid where none arrived
    Plane mask;                            ///< over the steps or pixels of the input, 0 to 1; may be empty
    double seconds = 0;

    /// What a value puts there; null where relevance or region do not reach it.
    [[nodiscard]] const RegionPart* partOf(base::ValueId value) const;
    /// The share of the region's relevance that passes a value; none where the region has none.
    [[nodiscard]] std::optional<double> shareOf(base::ValueId value) const;
    /// R·w of a value, element by element; invalid where it puts nothing there.
    [[nodiscard]] tensor::Tensor product(base::ValueId value) const;
};
using RegionPointer = std::shared_ptr<const RegionFacts>;

/// One channel of a value: what it puts into the region, and all that it has.
struct RegionChannel
{
    std::int64_t index = 0;
    double part = 0;
    double relevance = 0;
    Plane map{}; ///< R·w of a channel of a picture value; else empty
};
/// What a value puts into the region index by index along an axis, by |Σ R·w|, the largest first, at most `most`; empty
/// where it puts nothing there or has no such axis.
[[nodiscard]] std::vector<RegionChannel> rankedAlong(const RegionFacts& region, base::ValueId value, std::size_t axis,
                                                     std::size_t most);

/// The region of the run on screen, for every view that draws it. GUI thread; one per window.
class RegionOverlay final : public QObject
{
    Q_OBJECT

public:
    explicit RegionOverlay(QObject* parent = nullptr) : QObject(parent) {}

    /// Null: none is marked.
    [[nodiscard]] const RegionPointer& region() const { return m_region; }
    void set(RegionPointer region);
    /// That of this run; null where the region is of another one.
    [[nodiscard]] RegionPointer of(const std::shared_ptr<const trace::Run>& run) const;

signals:
    void changed();

private:
    RegionPointer m_region;
};

} // namespace retro::views
