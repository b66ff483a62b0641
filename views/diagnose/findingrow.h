// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/diagnose/diagnosisstate.h"

#include <QFrame>

class QLabel;
class QToolButton;
class QVBoxLayout;

namespace retro::views
{

class FlowLayout;

/// One finding: mark, place, sentence, number. The current one also says what it means and what to do, what follows
/// from it, and has its buttons. GUI thread.
class FindingRow final : public QFrame
{
    Q_OBJECT

public:
    /// `isSetAside`: it is no problem here, and can become one again.
    FindingRow(const diagnosis::Finding& finding, const FindingOffer& offer, bool isSetAside,
               QWidget* parent = nullptr);

    [[nodiscard]] const diagnosis::Finding& finding() const { return m_finding; }
    /// Shows all of it, or mark, place, sentence and number alone.
    void setCurrent(bool isCurrent);
    [[nodiscard]] bool isCurrent() const { return m_isCurrent; }
    /// Shows what follows from it.
    void setFollowersShown(bool areShown);
    /// Draws what shows it; nothing for EvidenceKind::None.
    void setEvidence(const FindingEvidence& evidence);
    /// Shows what the change would do; an empty preview takes it away.
    void setPreview(const FindingPreview& preview);
    /// What it was found in is no longer what is on screen.
    void setStale(bool isStale);
    /// The buttons of the row, by object name: "goto", "show", "mend", "preview", "copy", "aside",
    /// "followers".
    [[nodiscard]] QToolButton* button(const QString& name) const;

signals:
    /// It was clicked, or got the keyboard.
    void entered();
    void goToRequested(const retro::diagnosis::Finding& finding);
    void showRequested(const retro::diagnosis::Finding& finding);
    void mendRequested(const retro::diagnosis::Finding& finding);
    /// The change is to be tried, and not taken.
    void previewRequested(const retro::diagnosis::Finding& finding);
    void setAsideRequested(const retro::diagnosis::Finding& finding, bool isSetAside);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    QWidget* makeHead();
    QWidget* makeMore(const FindingOffer& offer);
    void addFollowers(QVBoxLayout& column);
    void addButtons(FlowLayout& flow, const FindingOffer& offer);
    QToolButton* addButton(FlowLayout& flow, const char* name, const QString& text, const QString& tip);
    QLabel* makeText(const QString& text, const QFont& font, bool isQuiet);
    void applyColors();

    diagnosis::Finding m_finding;
    bool m_isSetAside;
    bool m_isCurrent = false;
    bool m_isStale = false;
    QWidget* m_more = nullptr;
    QVBoxLayout* m_drawings = nullptr;
    QWidget* m_evidence = nullptr;
    QWidget* m_preview = nullptr;
    QWidget* m_followers = nullptr;
    QToolButton* m_fold = nullptr;
    std::vector<QLabel*> m_texts;
    std::vector<QLabel*> m_quiet;
};

} // namespace retro::views
