// SPDX-License-Identifier: Apache-2.0
#include "app/gui/verificationcontroller.h"

#include "app/gui/engineworker.h"
#include "views/verify/verificationview.h"

#include <QAction>

namespace retro::app
{

void addVerificationAction(views::ActionRegistry& actions)
{
    actions.add({"run.verify", QT_TRANSLATE_NOOP("retro::views::actions", "&Verify"),
                 QT_TRANSLATE_NOOP("retro::views::actions",
                                   "Check the properties of the tape, gradients against differences and the engines "
                                   "against each other, on this model and input"),
                 "check", ""});
}

VerificationController::VerificationController(views::ActionRegistry& actions, EngineWorker& engine,
                                               views::VerificationView& view, QObject* parent)
    : QObject(parent), m_engine(engine), m_view(view)
{
    connect(&actions.at(QStringLiteral("run.verify")), &QAction::triggered, this, &VerificationController::ask);
    connect(&view, &views::VerificationView::verifyRequested, this, &VerificationController::ask);
    follow(engine);
    clear();
}

void VerificationController::follow(const EngineWorker& engine)
{
    const auto isMine = [this](quint64 generation) { return m_generation != 0 && generation == m_generation; };
    connect(&engine, &EngineWorker::verified, this,
            [this, isMine](quint64 generation, const views::VerificationPointer& verification) {
                if (isMine(generation)) {
                    show(verification);
                }
            });
    connect(&engine, &EngineWorker::progress, this,
            [this, isMine](quint64 generation, const QString& stage, double fraction) {
                if (isMine(generation)) {
                    m_view.setProgress(stage, fraction);
                }
            });
    connect(&engine, &EngineWorker::failed, this,
            [this, isMine](quint64 generation, const QString& what, const QString& remedy) {
                if (isMine(generation)) {
                    m_view.setFailure(what, remedy);
                }
            });
    connect(&engine, &EngineWorker::stopped, this, [this, isMine](quint64 generation) {
        if (isMine(generation)) {
            m_view.setFailure({}, {});
        }
    });
}

void VerificationController::take(const ExplainDone& done)
{
    if (!done.model) {
        forget(tr("A recorded run holds no model to verify. Open its model."));
    } else if (!done.hasRelevance) {
        forget(tr("Nothing was run yet: choose an input, press Run, then verify."));
    } else {
        forget({});
        m_job = done.job;
        m_run = done.run.run;
    }
}

void VerificationController::clear() { forget(tr("Nothing is open: open a model, press Run, then verify.")); }

void VerificationController::forget(const QString& refusal)
{
    m_generation = 0;
    m_job = {};
    m_run.reset();
    m_view.setVerification(nullptr);
    m_view.setRefusal(refusal);
}

void VerificationController::ask()
{
    emit viewWanted();
    if (!m_run) {
        emit said(m_view.summary());
        return;
    }
    m_generation = m_engine.verify(m_job, m_run);
    m_view.setProgress(tr("Verifying"), -1);
    emit asked(m_generation);
}

void VerificationController::show(const views::VerificationPointer& verification)
{
    m_view.setVerification(verification);
    const QString sentence = tr("Verified: %1.").arg(m_view.summary());
    if (verification->count(views::Verdict::Violated) > 0) {
        emit violated(sentence);
    }
    emit said(sentence);
}

} // namespace retro::app
