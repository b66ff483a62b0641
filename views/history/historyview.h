// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/run/historyfacts.h"
#include "views/common/view.h"

#include <string>

class QLabel;
class QLineEdit;
class QSplitter;
class QTableWidget;

namespace retro::views
{

class HistoryRows;

/// How the relevance of one element came to be: the values on the way from the class down to it, who handed it on, the
/// parts of the chosen value, and the last step in numbers. The view only says which element is asked about; the window
/// asks and hands the answer over.
class HistoryView final : public View
{
    Q_OBJECT

public:
    HistoryView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Where from?"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] bool canBeWritten() const override { return m_history != nullptr; }
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;

    /// What is being asked, until the answer comes.
    void setAsked(const QString& place);
    void setHistory(HistoryPointer history);
    /// Why there is no answer.
    void setRefusal(const QString& why);
    /// Forgets the answer: another run is on screen.
    void clear();
    [[nodiscard]] const HistoryPointer& history() const { return m_history; }
    /// What stands below the rows about the chosen value.
    [[nodiscard]] QString detailText() const;
    /// Chooses a row, as a click does.
    void chooseRow(int row);
    [[nodiscard]] int chosenRow() const;

signals:
    /// An element was typed: VALUE:i,j,…
    void placeTyped(const QString& place);

protected:
    void refresh(Changes changes) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    QWidget* makeAddress(QWidget* parent);
    QWidget* makeDetail(QWidget* parent);
    [[nodiscard]] int lastKnownRow() const;
    void showLayer(int row);
    void showStep(const HistoryStep& step, QStringList& lines) const;
    [[nodiscard]] QString sentence() const;
    void say(const QString& text, bool isProblem);
    [[nodiscard]] std::string csv() const;

    HistoryPointer m_history;
    QString m_asked;
    QString m_refusal;
    QLineEdit* m_place = nullptr;
    QLabel* m_sentence = nullptr;
    HistoryRows* m_rows = nullptr;
    QSplitter* m_split = nullptr;
    QLabel* m_heading = nullptr;
    QTableWidget* m_parts = nullptr;
    QLabel* m_detail = nullptr;
};

} // namespace retro::views
