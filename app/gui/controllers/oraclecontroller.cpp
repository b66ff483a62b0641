// SPDX-License-Identifier: Apache-2.0
#include "app/gui/controllers/oraclecontroller.h"

#include "app/gui/jobs/engineworker.h"

#include <QAction>

namespace retro::app
{

void addOracleAction(views::ActionRegistry& actions)
{
    actions.add(
        {"run.oracle", RETRO_ACTION("Check against the ora&cle"),
         RETRO_ACTION(
             "Run a plain loop over every saved value, without promises, and compare all relevance bit for bit"),
         "check", ""});
}

OracleController::OracleController(views::ActionRegistry& actions, EngineWorker& engine, QObject* parent)
    : QObject(parent), m_engine(engine)
{
    connect(&actions.at(QStringLiteral("run.oracle")), &QAction::triggered, this, &OracleController::ask);
    connect(&engine, &EngineWorker::oracleChecked, this,
            [this](quint64 generation, const QString& sentence, bool holds) {
                if (generation == m_generation) {
                    m_note = holds ? tr("equals the oracle") : tr("differs from the oracle");
                    emit answered(sentence, holds);
                }
            });
}

void OracleController::take(const ExplainDone& done)
{
    m_note.clear();
    m_generation = 0;
    m_job = done.job;
    m_run = done.model && done.hasRelevance ? done.run.run : nullptr;
}

void OracleController::ask()
{
    if (!m_run) {
        emit said(tr("The oracle needs a model and an input: open the model, explain, then check."));
        return;
    }
    m_generation = m_engine.checkOracle(m_job, m_run);
    emit asked(m_generation);
}

} // namespace retro::app

#include "moc_oraclecontroller.cpp"
