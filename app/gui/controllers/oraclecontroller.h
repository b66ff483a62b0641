// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/jobs/jobs.h"
#include "views/common/actions.h"

#include <QObject>

namespace retro::app
{

class EngineWorker;

/// Adds run.oracle.
void addOracleAction(views::ActionRegistry& actions);

/// The oracle beside the run on screen (docs/traversal.md, invariant I6): asks for it, and keeps what came out for as
/// long as that run is on screen. GUI thread.
class OracleController final : public QObject
{
    Q_OBJECT

public:
    OracleController(views::ActionRegistry& actions, EngineWorker& engine, QObject* parent);

    /// The run that is on screen now.
    void take(const ExplainDone& done);
    /// "equals the oracle", "differs from the oracle"; empty while it was not asked.
    [[nodiscard]] const QString& note() const { return m_note; }

signals:
    /// The engine runs the oracle, as this job.
    void asked(quint64 generation);
    /// How it came out, in a sentence.
    void answered(const QString& sentence, bool holds);
    /// Why it cannot be asked.
    void said(const QString& sentence);

private:
    void ask();

    EngineWorker& m_engine;
    ExplainJob m_job;
    std::shared_ptr<const trace::Run> m_run; ///< null: nothing that has relevance and a model
    quint64 m_generation = 0;
    QString m_note;
};

} // namespace retro::app
