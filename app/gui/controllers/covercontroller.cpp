// SPDX-License-Identifier: Apache-2.0
#include "app/gui/controllers/covercontroller.h"

#include "views/input/inputview.h"

#include <array>

namespace retro::app
{

namespace
{

using views::ActionSpec;

constexpr std::array kCoverActions{
    ActionSpec{"cover.brush", RETRO_ACTION("&Cover and see"),
               RETRO_ACTION("Cover pixels of the picture with the mouse and see what the model says then"), "brush",
               "Ctrl+K", true},
    ActionSpec{"cover.tag", RETRO_ACTION("Cover the &tag"), RETRO_ACTION("Cover the box that the model's card marks"),
               "tag", "Ctrl+Shift+K"},
    ActionSpec{"cover.reset", RETRO_ACTION("Uncover &all"), RETRO_ACTION("Show the model the whole picture again"),
               "close", "Ctrl+Backspace"},
};

engine::CoverFill fillOf(views::CoverColor color)
{
    return color == views::CoverColor::Grey ? engine::CoverFill::Grey : engine::CoverFill::Surroundings;
}

void allow(QAction& action, bool isAllowed, const QString& refusal)
{
    action.setEnabled(isAllowed);
    const QString key = action.shortcut().toString(QKeySequence::NativeText);
    const QString tip = key.isEmpty() ? action.statusTip() : QStringLiteral("%1 (%2)").arg(action.statusTip(), key);
    action.setToolTip(isAllowed ? tip : refusal);
}

} // namespace

void addCoverActions(views::ActionRegistry& actions) { actions.addAll(kCoverActions); }

CoverController::CoverController(views::ActionRegistry& actions, views::InputView& view, QObject* parent)
    : QObject(parent), m_view(view), m_brush(actions.at(QStringLiteral("cover.brush"))),
      m_tag(actions.at(QStringLiteral("cover.tag"))), m_reset(actions.at(QStringLiteral("cover.reset")))
{
    view.addCoverButtons({&m_tag, &actions.at(QStringLiteral("edit.undo")), &m_reset});
    connect(&m_brush, &QAction::toggled, this, [this](bool isOn) { m_view.setBrush(isOn); });
    connect(&m_tag, &QAction::triggered, this, &CoverController::coverTag);
    connect(&m_reset, &QAction::triggered, this, [this] { m_view.uncoverAll(); });
    connect(&view, &views::InputView::coverChanged, this, &CoverController::takeChange);
    connect(&view, &views::InputView::brushLeft, this, [this] { m_brush.setChecked(false); });
    showActions();
}

QString CoverController::refusal() const
{
    if (m_isRecorded) {
        return tr("This is a recorded run: open its model to cover pixels");
    }
    return m_last ? QString() : tr("Explain a picture first: only a picture's pixels can be covered");
}

void CoverController::showActions()
{
    const views::CoverSheet& sheet = m_view.cover();
    const bool isPicture = m_last.has_value();
    allow(m_brush, isPicture, refusal());
    allow(m_tag, isPicture && m_tagBox.has_value(),
          isPicture ? tr("The card of this model marks no tag in this picture") : refusal());
    allow(m_reset, isPicture && sheet.count() > 0, tr("Nothing is covered"));
    if (!isPicture) {
        m_brush.setChecked(false);
    }
}

void CoverController::takeResult(const ExplainDone& result)
{
    const bool isPicture =
        result.model && result.hasRelevance && result.input.isPicture && result.job.tensors.size() == 1;
    const bool isSame = isPicture && m_last && m_last->question.inputs == result.job.question.inputs &&
                        m_last->model->rewritten.before == result.model->rewritten.before;
    m_isRecorded = !result.model;
    m_tagBox = isPicture ? result.input.tagBox : std::nullopt;
    m_last = isPicture ? std::optional(result.job) : std::nullopt;
    if (!isSame) {
        m_isDue = false;
        m_view.flush(); // the sheet gets the size of the new picture
        m_view.startCover();
    }
    m_view.setAppliedCover(result.job.cover ? result.job.cover->pixels : views::CoverSheet::Pixels());
    showActions();
    takeEnd(result.generation);
}

void CoverController::takeEnd(std::uint64_t generation)
{
    if (generation < m_awaited) {
        return;
    }
    m_awaited = 0;
    if (m_isDue && m_isFollowing) {
        ask();
    }
}

void CoverController::setFollowing(bool isFollowing)
{
    m_isFollowing = isFollowing;
    if (isFollowing && m_isDue && m_awaited == 0) {
        ask();
    }
}

std::shared_ptr<const engine::Cover> CoverController::coverFor(const std::vector<std::string>& inputs) const
{
    const views::CoverSheet& sheet = m_view.cover();
    if (!m_last || m_last->question.inputs != inputs || sheet.count() == 0) {
        return nullptr;
    }
    return std::make_shared<const engine::Cover>(
        engine::Cover{sheet.size().width(), sheet.size().height(), sheet.pixels(), fillOf(m_view.coverColor())});
}

void CoverController::coverTag()
{
    if (m_tagBox) {
        m_view.coverBox(*m_tagBox);
    }
}

void CoverController::takeChange()
{
    showActions();
    m_isDue = true;
    if (m_isFollowing && m_awaited == 0) {
        ask();
    }
}

void CoverController::ask()
{
    m_isDue = false;
    if (!m_last) {
        return;
    }
    ExplainJob job = *m_last;
    job.cover = coverFor(job.question.inputs);
    job.isLive = true;
    emit jobWanted(job);
}

} // namespace retro::app

#include "moc_covercontroller.cpp"
