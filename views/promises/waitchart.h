// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"
#include "views/promises/promiseforest.h"

#include <QWidget>

#include <cstdint>
#include <vector>

namespace retro::views
{

/// How many promises waited for how many visits, up to a position: one place per power of two, the first for less than
/// two visits, the next for two and three.
struct WaitCounts
{
    std::vector<std::uint32_t> fulfilled;
    std::vector<std::uint32_t> waiting; ///< as long as the other
    [[nodiscard]] std::uint32_t total() const;
    bool operator==(const WaitCounts&) const = default;
};
/// Of all promises that are opened before the position. O(promises).
[[nodiscard]] WaitCounts waitCounts(const trace::Run& run, const PromiseForest& forest, std::uint64_t position);

/// "How long do they wait?": bars over the visits, those that still wait hatched on top. GUI thread.
class WaitChart final : public QWidget
{
    Q_OBJECT

public:
    explicit WaitChart(QWidget* parent = nullptr);
    /// What is drawn from now on.
    void setCounts(WaitCounts counts);
    [[nodiscard]] const WaitCounts& counts() const { return m_counts; }
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    WaitCounts m_counts;
};

} // namespace retro::views
