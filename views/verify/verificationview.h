// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/verification.h"
#include "views/common/view.h"

#include <functional>

class QComboBox;
class QStackedWidget;
class QTableView;
class QToolButton;

namespace retro::views
{

class ElidedLabel;
class EmptyState;
class FactModel;
class PropertyModel;

/// Whether the arithmetic of the engine holds what it must on the model and input on screen: the properties of the
/// tape, gradients against differences, engines against each other, each held, violated or not applicable. It asks for
/// the work (verifyRequested) and is told what came out. Other pages tell what holds at the cursor. A row selects the
/// node that it is about, a double click goes to where its relevance was known in full.
class VerificationView final : public View
{
    Q_OBJECT

public:
    VerificationView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Verification"); }
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] QStringList exportFormats() const override { return {QStringLiteral("csv"), QStringLiteral("json")}; }
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;

    [[nodiscard]] QByteArray saveState() const override;
    void restoreState(const QByteArray& state) override;

    /// What is shown.
    enum class Page : std::uint8_t {
        Properties, ///< what verifying gave
        Invariants, ///< what holds at the cursor
        Addition,   ///< the parts of what is selected, in the order in which they are added
        Recursion   ///< the loop beside the recursion
    };
    void showPage(Page page);
    [[nodiscard]] Page page() const { return m_page; }

    /// What verifying gave; null = the run on screen was not verified.
    void setVerification(VerificationPointer verification);
    [[nodiscard]] const VerificationPointer& verification() const { return m_verification; }
    /// Why the run on screen cannot be verified; empty = it can.
    void setRefusal(const QString& reason);
    /// Verifying is under way: stage in words, share done (negative = unknown).
    void setProgress(const QString& stage, double fraction);
    /// It ended without a result. With an empty `what` because it was stopped.
    void setFailure(const QString& what, const QString& remedy);

    [[nodiscard]] PropertyModel& properties() const { return *m_properties; }
    /// The other pages.
    [[nodiscard]] FactModel& facts() const { return *m_facts; }
    /// The line above the table.
    [[nodiscard]] QString message() const;
    /// "18 held, 0 violated, 1 not applicable".
    [[nodiscard]] QString summary() const;

signals:
    void verifyRequested();

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    QWidget* makeHeader();
    void makeTable();
    void makeFactTable();
    void takeRow(QTableView& table, const std::function<base::NodeId(int)>& nodeAt);
    void showResult();
    void showProperties();
    void showFacts();
    void sizeFactColumns();
    void goToFact(int row);
    void selectNode(base::NodeId node);
    void goTo(base::NodeId node);

    VerificationPointer m_verification;
    PropertyModel* m_properties = nullptr;
    ElidedLabel* m_summary = nullptr;
    QToolButton* m_verify = nullptr;
    QStackedWidget* m_stack = nullptr;
    EmptyState* m_state = nullptr;
    QTableView* m_table = nullptr;
    QTableView* m_factTable = nullptr;
    FactModel* m_facts = nullptr;
    QComboBox* m_pages = nullptr;
    Page m_page = Page::Properties;
    QString m_refusal;
};

} // namespace retro::views
