// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/run/gradientreach.h"
#include "views/common/run/verification.h"
#include "views/common/view.h"
#include "views/common/widgets/tabletext.h"
#include "views/verify/factsheet.h"
#include "views/verify/rewritediff.h"
#include "views/verify/storagefacts.h"

#include <functional>
#include <vector>

class QComboBox;
class QStackedWidget;
class QTableView;
class QToolButton;

namespace retro::views
{

class ElidedLabel;
class EmptyState;
class FactModel;
class MemoryPage;
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
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;

    [[nodiscard]] QByteArray saveState() const override { return QByteArray::number(static_cast<int>(m_page)); }
    void restoreState(const QByteArray& state) override;

    /// What is shown.
    enum class Page : std::uint8_t {
        Properties, ///< what verifying gave
        Invariants, ///< what holds at the cursor
        Addition,   ///< the parts of what is selected, in the order in which they are added
        Recursion,  ///< the loop beside the recursion
        Nodes,      ///< every node that was checked, the worst first
        Reach,      ///< what a gradient visits, and why not the rest
        Rewrites,   ///< what each rewrite changed
        Memory      ///< which tensors are stored or rebuilt, and the curve that this gives
    };
    void showPage(Page page);
    [[nodiscard]] Page page() const { return m_page; }

    /// What verifying gave; null = the run on screen was not verified.
    void setVerification(VerificationPointer verification);
    [[nodiscard]] const VerificationPointer& verification() const { return m_verification; }
    /// Why the run on screen cannot be verified; empty = it can.
    void setRefusal(const QString& reason);
    /// What a gradient has to visit; null = nobody knows, for that reason.
    void setReach(GradientReachPointer reach, const QString& refusal = {});
    /// The graph of the file beside the one that runs; null = nobody knows, for that reason.
    void setRewrites(RewriteDiffPointer diff, const QString& refusal = {});
    /// What the passes need in memory; null = nobody knows, for that reason.
    void setStorage(StorageFactsPointer facts, const QString& refusal = {});
    /// Verifying is under way: stage in words, share done (negative = unknown).
    void setProgress(const QString& stage, double fraction);
    /// It ended without a result. With an empty `what` because it was stopped.
    void setFailure(const QString& what, const QString& remedy);

    [[nodiscard]] PropertyModel& properties() const { return *m_properties; }
    /// The other pages.
    [[nodiscard]] FactModel& facts() const { return *m_facts; }
    [[nodiscard]] MemoryPage& memory() const { return *m_memory; }
    /// The line above the table.
    [[nodiscard]] QString message() const;
    /// "18 held, 0 violated, 1 not applicable".
    [[nodiscard]] QString summary() const;

signals:
    void verifyRequested();
    /// What a gradient visits is asked for between an input (invalid: every floating one) and a value (invalid: the
    /// one that the run explains).
    void reachRequested(retro::base::ValueId from, retro::base::ValueId to);
    /// The gradient is to be run with these values of the run's graph rebuilt and all others stored, packed where their
    /// readers allow it if `isPacked`.
    void gradientRequested(const std::vector<retro::base::ValueId>& rebuilt, bool isPacked);

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    QWidget* makeHeader();
    void makeTable();
    void makeFactTable();
    QWidget* makeReachRow();
    void fillReachRow();
    void askReach();
    [[nodiscard]] bool needsVerification() const;
    void takeRow(QTableView& table, const std::function<base::NodeId(int)>& nodeAt);
    void showResult();
    void showMayVerify();
    void showProperties();
    void showFacts();
    /// A page that is a table of facts.
    [[nodiscard]] FactSheet sheetOf(Page page) const;
    /// Empty for a node that the run does not have.
    [[nodiscard]] QString labelOf(base::NodeId node) const;
    [[nodiscard]] base::Result<void> exportMemory(const std::filesystem::path& path, TableFormat format) const;
    [[nodiscard]] base::Result<void> exportFacts(const std::filesystem::path& path, TableFormat format) const;
    [[nodiscard]] base::Result<void> exportProperties(const std::filesystem::path& path, TableFormat format) const;
    void showMemory();
    void fillForwarded();
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
    QWidget* m_reachRow = nullptr;
    QComboBox* m_from = nullptr;
    QComboBox* m_to = nullptr;
    GradientReachPointer m_reach;
    QString m_reachRefusal;
    RewriteDiffPointer m_diff;
    QString m_diffRefusal;
    MemoryPage* m_memory = nullptr;
    QString m_storageRefusal;
    QComboBox* m_pages = nullptr;
    Page m_page = Page::Properties;
    QString m_refusal;
    QString m_stage; ///< of verifying; empty = it is not under way
    double m_fraction = -1;
    std::shared_ptr<const graph::Graph> m_filledFor; ///< whose inputs and outputs are offered
    base::ValueId m_filledTarget;
};

} // namespace retro::views
