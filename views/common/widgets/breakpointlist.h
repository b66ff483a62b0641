// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/breakpoints.h"
#include "views/common/viewcontext.h"

#include <QObject>
#include <QString>
#include <QStringList>

#include <cstdint>
#include <optional>
#include <vector>

namespace retro::views
{

class JobRunner;

/// A breakpoint as the user wrote it and what it means in the present run.
struct BreakpointEntry
{
    QString condition;                      ///< text (trace::parseBreakpoint)
    bool isEnabled = true;                  ///< runs stop here
    std::optional<trace::Breakpoint> found; ///< nothing when the condition means nothing in this run
    QString problem;                        ///< why not
    std::vector<std::uint64_t> stops;       ///< positions at which it holds; arrives after stopsChanged()
};

/// The breakpoints of the window. Conditions are kept as text and read anew for every run. Where they hold is searched
/// off the GUI thread. GUI thread; one per window, like cursor and selection.
class BreakpointList final : public QObject
{
    Q_OBJECT

public:
    explicit BreakpointList(RunModel& model, QObject* parent = nullptr);
    ~BreakpointList() override;

    [[nodiscard]] const std::vector<BreakpointEntry>& entries() const { return m_entries; }
    [[nodiscard]] const RunModel& model() const { return m_model; }

    /// Adds a condition; nothing when it is there already. Errors (Usage): no run, or the condition is not clear.
    base::Result<void> add(const QString& condition);
    /// Errors as add(); the old condition stays then.
    base::Result<void> edit(std::size_t at, const QString& condition);
    void setEnabled(std::size_t at, bool isEnabled);
    void remove(std::size_t at);
    void clear();
    /// Adds "node NAME", or removes every plain breakpoint on that node.
    void toggle(base::NodeId node);

    /// The first breakpoint on visits of that node.
    [[nodiscard]] std::optional<std::size_t> indexOf(base::NodeId node) const;
    /// Those that are on and mean something in this run.
    [[nodiscard]] std::vector<trace::Breakpoint> active() const;
    /// Positions at which active breakpoints hold, ascending; may lag behind a change until stopsChanged().
    [[nodiscard]] std::vector<std::uint64_t> stops() const;

    /// The conditions, those that are off with a leading "off ".
    [[nodiscard]] QStringList save() const;
    void restore(const QStringList& conditions);

signals:
    /// Entries came, went, or were changed.
    void changed();
    /// The places where they hold are known.
    void stopsChanged();

private:
    void resolve(BreakpointEntry& entry) const;
    void resolveAll();
    void search();
    void takeStops(const std::vector<std::vector<std::uint64_t>>& found);

    RunModel& m_model;
    JobRunner* m_jobs = nullptr;
    std::vector<BreakpointEntry> m_entries;
};

} // namespace retro::views
