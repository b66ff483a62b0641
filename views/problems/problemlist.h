// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>

#include "core/base/ids.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace retro::views
{

enum class Severity : std::uint8_t { Warning, Error };

/// Where a problem comes from; problems of one origin are replaced together.
enum class ProblemOrigin : std::uint8_t { Job, File, Model, Run, Layout, Diagnosis };

/// What went wrong, or may mislead. Plain value.
struct Problem
{
    Severity severity = Severity::Error;
    ProblemOrigin origin = ProblemOrigin::Job;
    QString what{};                          ///< what happened and where
    QString remedy{};                        ///< what to do; may be empty
    base::NodeId node{};                     ///< invalid = of no single node
    std::optional<std::uint64_t> position{}; ///< events applied when it shows; none = of no single step
    bool operator==(const Problem&) const = default;
};

/// Everything that the window has to say about what went wrong, in place of message boxes. GUI thread; one per window.
class ProblemList final : public QObject
{
    Q_OBJECT

public:
    explicit ProblemList(QObject* parent = nullptr) : QObject(parent) {}

    [[nodiscard]] const std::vector<Problem>& all() const { return m_problems; }
    [[nodiscard]] int count(Severity severity) const;
    /// Adds one at the end; one that is there already moves to the end.
    void add(Problem problem);
    /// Puts `problems` in place of all of that origin.
    void replace(ProblemOrigin origin, std::vector<Problem> problems);
    /// Removes all of that origin.
    void clear(ProblemOrigin origin) { replace(origin, {}); }

signals:
    void changed();
    /// An error was added: the list should be seen.
    void errorAdded();

private:
    std::vector<Problem> m_problems;
};

} // namespace retro::views
