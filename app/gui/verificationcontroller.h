// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/jobs.h"
#include "views/common/actions.h"

#include <QObject>

namespace retro::views
{
class VerificationView;
}

namespace retro::app
{

class EngineWorker;

/// Adds run.verify.
void addVerificationAction(views::ActionRegistry& actions);

/// The properties of the tape on the model and input on screen: asks the engine for them, shows how far it is, and
/// hands what came out to the view for as long as that run is on screen. GUI thread.
class VerificationController final : public QObject
{
    Q_OBJECT

public:
    VerificationController(views::ActionRegistry& actions, EngineWorker& engine, views::VerificationView& view,
                           QObject* parent);

    /// The run that is on screen now; what was found out about the one before is dropped.
    void take(const ExplainDone& done);
    /// Nothing is on screen.
    void clear();

signals:
    /// The engine verifies, as this job.
    void asked(quint64 generation);
    /// The view is to be seen.
    void viewWanted();
    /// How it came out, or why it cannot be asked, in a sentence.
    void said(const QString& sentence);
    /// Something does not hold.
    void violated(const QString& sentence);

private:
    void ask();
    void follow(const EngineWorker& engine);
    void forget(const QString& refusal);
    void show(const views::VerificationPointer& verification);

    EngineWorker& m_engine;
    views::VerificationView& m_view;
    ExplainJob m_job;
    std::shared_ptr<const trace::Run> m_run; ///< null: nothing that has relevance and a model
    quint64 m_generation = 0;
};

} // namespace retro::app
