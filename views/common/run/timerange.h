// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

#include <cstdint>
#include <optional>

namespace retro::trace
{
struct Run;
}

namespace retro::views
{

/// Visits from the first to the last, both included; counted from 0.
struct VisitRange
{
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    bool operator==(const VisitRange&) const = default;
};

/// Positions of a range: from before its first event to behind its last.
struct PositionRange
{
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// The part of a run that lists are filtered to; at first all of it. Chosen on the ruler of the timeline, shown as a
/// chip wherever it filters. GUI thread, one per workspace.
class TimeRange final : public QObject
{
    Q_OBJECT

public:
    explicit TimeRange(QObject* parent = nullptr) : QObject(parent) {}

    /// Nothing = the whole run.
    [[nodiscard]] const std::optional<VisitRange>& visits() const { return m_visits; }
    /// As positions of a run; the whole run when nothing is chosen. Visits beyond the end are cut off.
    [[nodiscard]] PositionRange positionsIn(const trace::Run& run) const;
    /// "visits 10 – 20"; empty when nothing is chosen.
    [[nodiscard]] QString text() const;

public slots:
    void clear();

public:
    /// In either order.
    void set(std::uint32_t one, std::uint32_t other);

signals:
    void changed();

private:
    std::optional<VisitRange> m_visits;
};

} // namespace retro::views
